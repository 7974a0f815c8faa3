// Rows of a table of numbers: which features they can have is known beforehand.
#include <algorithm>

#include "learner/bank.hpp"

namespace chacha {
namespace {

constexpr std::size_t kMostGrid = 4096;  // features that are looked up beforehand

}  // namespace

bool Bank::lay_out(const std::vector<TablePart>& parts, std::uint64_t table) {
  if (stale_) rebuild();
  if (grid_.table == table && grid_.plan == plan_) return grid_.usable;
  grid_ = Grid();
  grid_.usable = fill_grid(parts);
  complete_ = false;
  grid_.table = table;
  grid_.plan = plan_;
  return grid_.usable;
}

bool Bank::fill_grid(const std::vector<TablePart>& parts) {
  std::size_t features = 1;
  for (const TablePart& part : parts) features += part.hashes.size();
  for (const Product& product : products_) {
    Cross cross{0, 0, 0, 0, 0, product.mask, {}};
    const TablePart* sides[2] = {nullptr, nullptr};
    if (product.groups.size() != 2 || product.groups[0] == product.groups[1]) return false;
    std::uint32_t column = 0;
    for (const TablePart& part : parts) {
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
    if (features > kMostGrid) return false;
    cross.left_group = product.groups[0];
    cross.right_group = product.groups[1];
    cross.width = static_cast<std::uint32_t>(sides[1]->hashes.size());
    for (const std::uint32_t a : sides[0]->hashes) {
      for (const std::uint32_t b : sides[1]->hashes) cross.places.push_back(place_of((kFnvPrime * a ^ b) & mask_, true));
    }
    grid_.crosses.push_back(std::move(cross));
  }
  if (features > kMostGrid) return false;
  grid_.constant = place_of(kConstant & mask_, true);
  for (const TablePart& part : parts) {
    for (const std::uint32_t hash : part.hashes) grid_.single.push_back(place_of(hash & mask_, true));
  }
  return true;
}

void Bank::expand_row(const Example& example, const std::uint32_t* columns) {
  complete_ = false;  // another way of looking up begins anew
  ++expansion_;
  if (run_of_.size() < groups_.size()) run_of_.resize(groups_.size());
  const std::size_t single = example.hashes.size();
  std::size_t total = single + 1;
  segments_.reserve(grid_.crosses.size() + 2);
  parts_.reserve(1);
  for (std::uint32_t r = 0; r < example.runs.size(); ++r) run_of_[example.runs[r].group] = r + 1;
  const auto run = [&](std::uint32_t group) {
    return run_of_[group] == 0 ? Run{group, 0, 0} : example.runs[run_of_[group] - 1];
  };
  for (const Cross& cross : grid_.crosses) {
    const Run left = run(cross.left_group);
    const Run right = run(cross.right_group);
    total += std::size_t{left.end - left.begin} * (right.end - right.begin);
  }
  try {
    places_.resize(total);
    values_.resize(total);
  } catch (...) {
    for (const Run& known : example.runs) run_of_[known.group] = 0;
    throw;
  }
  narrow_places_.clear();
  narrow_values_.clear();
  segments_.clear();
  const auto n = static_cast<std::uint32_t>(single);
  for (std::uint32_t i = 0; i < n; ++i) {
    places_[i] = grid_.single[columns[i]];
    values_[i] = example.values[i];
  }
  places_[n] = grid_.constant;
  values_[n] = 1.0F;
  segments_.push_back({0, all_constant_ ? n + 1 : n, 0});
  if (!all_constant_) segments_.push_back({n, n + 1, 1});
  std::uint32_t at = n + 1;
  for (const Cross& cross : grid_.crosses) {
    const Run left = run(cross.left_group);
    const Run right = run(cross.right_group);
    const std::uint32_t begin = at;
    for (std::uint32_t i = left.begin; i < left.end; ++i) {
      const std::uint32_t* row = cross.places.data() + (columns[i] - cross.left) * cross.width;
      for (std::uint32_t j = right.begin; j < right.end; ++j, ++at) {
        places_[at] = row[columns[j] - cross.right];
        values_[at] = example.values[i] * example.values[j];
      }
    }
    if (at > begin) segments_.push_back({begin, at, cross.mask});
  }
  parts_.clear();
  parts_.push_back({0, static_cast<std::uint32_t>(segments_.size()), -1, 0});
  for (const Run& known : example.runs) run_of_[known.group] = 0;
}

}  // namespace chacha
