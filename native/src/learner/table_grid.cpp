#include "learner/table_grid.hpp"

#include <utility>

#include "vw/hashing.hpp"

namespace chacha {
namespace {

constexpr std::size_t kMostFeatures = 4096;  // that are looked up beforehand

}  // namespace

TableGrid::TableGrid(const Groups& groups, const LiveProducts& products, Places& places)
    : groups_(groups), products_(products), places_(places) {}

void TableGrid::lay_out(const std::vector<Part>& parts, std::uint64_t table) {
  table_ = version_ = 0;  // in case that what follows throws
  usable_ = false;
  single_ = {};
  crosses_ = {};
  usable_ = look_up(parts);
  table_ = table;
  version_ = products_.version();
}

bool TableGrid::look_up(const std::vector<Part>& parts) {
  const std::uint32_t mask = places_.mask();
  std::size_t features = 1;
  for (const Part& part : parts) features += part.hashes.size();
  for (const Product& product : products_.all()) {
    Cross cross{0, 0, 0, 0, 0, product.mask, {}};
    const Part* sides[2] = {nullptr, nullptr};
    if (product.groups.size() != 2 || product.groups[0] == product.groups[1]) return false;
    std::uint32_t column = 0;
    for (const Part& part : parts) {
      if (part.group == product.groups[0]) {
        sides[0] = &part;
        cross.left = column;
      }
      if (part.group == product.groups[1]) {
        sides[1] = &part;
        cross.right = column;
      }
      column += static_cast<std::uint32_t>(part.hashes.size());
    }
    if (sides[0] == nullptr || sides[1] == nullptr) continue;
    features += sides[0]->hashes.size() * sides[1]->hashes.size();
    if (features > kMostFeatures) return false;
    cross.left_group = product.groups[0];
    cross.right_group = product.groups[1];
    cross.width = static_cast<std::uint32_t>(sides[1]->hashes.size());
    for (const std::uint32_t a : sides[0]->hashes) {
      for (const std::uint32_t b : sides[1]->hashes) {
        cross.places.push_back(places_.wide((kFnvPrime * a ^ b) & mask, true));
      }
    }
    crosses_.push_back(std::move(cross));
  }
  if (features > kMostFeatures) return false;
  constant_ = places_.wide(kConstant & mask, true);
  for (const Part& part : parts) {
    for (const std::uint32_t hash : part.hashes) single_.push_back(places_.wide(hash & mask, true));
  }
  return true;
}

std::size_t TableGrid::bytes() const {
  std::size_t total = bytes_of(single_, crosses_) + expansion_.bytes() + run_index_.bytes();
  for (const Cross& cross : crosses_) total += bytes_of(cross.places);
  return total;
}

void TableGrid::expand(const Example& example, const std::uint32_t* columns) {
  const auto n = static_cast<std::uint32_t>(example.hashes.size());
  const std::uint32_t constant = products_.mask_of_constant();
  Expansion& out = expansion_;
  const RunIndex::Runs runs(run_index_, example, groups_.size());
  std::size_t total = std::size_t{n} + 1;
  for (const Cross& cross : crosses_) {
    const Run left = runs[cross.left_group];
    const Run right = runs[cross.right_group];
    total += std::size_t{left.end - left.begin} * (right.end - right.begin);
  }
  out.segments.reserve(crosses_.size() + 2);
  out.parts.reserve(1);
  out.places.resize(total);
  out.values.resize(total);
  // From here on nothing throws.
  out.segments.clear();
  for (std::uint32_t i = 0; i < n; ++i) {
    out.places[i] = single_[columns[i]];
    out.values[i] = example.values[i];
  }
  out.places[n] = constant_;
  out.values[n] = 1.0F;
  out.segments.push_back({0, constant == 0 ? n + 1 : n, 0});
  if (constant != 0) out.segments.push_back({n, n + 1, constant});
  std::uint32_t at = n + 1;
  for (const Cross& cross : crosses_) {
    const Run left = runs[cross.left_group];
    const Run right = runs[cross.right_group];
    const std::uint32_t begin = at;
    for (std::uint32_t i = left.begin; i < left.end; ++i) {
      const std::uint32_t* row = cross.places.data() + (columns[i] - cross.left) * cross.width;
      for (std::uint32_t j = right.begin; j < right.end; ++j, ++at) {
        out.places[at] = row[columns[j] - cross.right];
        out.values[at] = example.values[i] * example.values[j];
      }
    }
    if (at > begin) out.segments.push_back({begin, at, cross.mask});
  }
  out.parts.clear();
  out.parts.push_back({0, static_cast<std::uint32_t>(out.segments.size()), -1, 0});
}

}  // namespace chacha
