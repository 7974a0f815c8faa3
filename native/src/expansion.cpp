// Finding the places of an example's features: single ones, the constant, products.
#include <algorithm>
#include <stdexcept>

#include "bank.hpp"

namespace chacha {
namespace {

constexpr std::size_t kMostExpanded = std::size_t{1} << 28;  // features of one example
constexpr std::uint32_t kInWide = 0x80000000U;               // a narrow feature that has a wide place

}  // namespace

std::uint32_t Bank::wide_place(std::uint32_t index, bool learning) {
  std::uint32_t place = wide_.find(index);
  if (place == IndexMap::kNone) {
    if (!learning && !in_narrow(index)) {
      complete_ = false;
      return 0;
    }
    place = add_place(index);
  }
  const float* at = table_.get() + std::size_t{place} * 4 * width_;
  for (std::size_t k = 0; k < 4 * width_; k += 16) __builtin_prefetch(at + k, 1);
  return place;
}

// Whether a model keeps this index for itself; it then moves to a wide place once others need it.
bool Bank::in_narrow(std::uint32_t index) const {
  return std::any_of(live_.begin(), live_.end(), [&](std::uint32_t lane) {
    const IndexMap& map = lanes_[lane].narrow.index;
    return map.size() > 0 && map.find(index) != IndexMap::kNone;
  });
}

std::uint32_t Bank::narrow_place(std::uint32_t index, std::uint32_t lane, bool learning) {
  const std::uint32_t place = wide_.find(index);
  if (place != IndexMap::kNone) return place | kInWide;
  Narrow& narrow = lanes_[lane].narrow;
  std::uint32_t cell = narrow.index.find(index);
  if (cell == IndexMap::kNone) {
    if (!learning) {
      complete_ = false;
      return 0 | kInWide;
    }
    cell = narrow.index.size();
    narrow.cells.resize(std::size_t{cell + 1} * 4);
    narrow.cells[std::size_t{cell} * 4 + 1] = lanes_[lane].options.initial_t;
    narrow.index.add(index, cell);
  }
  __builtin_prefetch(narrow.cells.data() + std::size_t{cell} * 4, 1);
  return cell;
}

// The features of one product. Without `resolve` the places are known, and only values are made.
class Bank::Expansion {
 public:
  Expansion(Bank& bank, const Example& example, bool resolve, bool learning)
      : bank_(bank), example_(example), resolve_(resolve), learning_(learning) {}

  bool resolve() const { return resolve_; }

  // `all` has, for each group of the product, its runs; mostly one.
  void product(const Product& product, const std::vector<std::vector<Range>>& all) {
    owner_ = product.owner;
    groups_ = &product.groups;
    all_ = &all;
    ranges_.resize(all.size());
    choose(0, 0);
  }

  void product(const Product& product, const std::vector<Range>& ranges) {
    owner_ = product.owner;
    ranges_ = ranges;
    walk(0, 0, 1.0F, ranges_[0].begin);
  }

 private:
  // Every choice of runs, in the order in which VW takes them from its stack: backwards, but for
  // the last group. A group that stands twice gives every pair of its runs once.
  void choose(std::size_t depth, std::size_t offset) {
    const std::vector<Range>& runs = (*all_)[depth];
    const bool again = depth > 0 && (*groups_)[depth] == (*groups_)[depth - 1];
    const std::size_t first = again ? offset : 0;
    if (depth + 1 == all_->size()) {
      for (std::size_t i = first; i < runs.size(); ++i) {
        ranges_[depth] = runs[i];
        walk(0, 0, 1.0F, ranges_[0].begin);
      }
      return;
    }
    for (std::size_t i = runs.size(); i-- > first;) {
      ranges_[depth] = runs[i];
      choose(depth + 1, i);
    }
  }

  void walk(std::size_t depth, std::uint32_t half, float value, std::uint32_t begin) {
    const Range range = ranges_[depth];
    if (depth + 1 == ranges_.size()) {
      emit(half, value, begin, range.end);
      return;
    }
    const Range next = ranges_[depth + 1];
    for (std::uint32_t i = begin; i < range.end; ++i) {
      const float x = example_.values[i];
      const std::uint32_t inner = next.begin == range.begin ? i : next.begin;  // combinations
      walk(depth + 1, kFnvPrime * (half ^ example_.hashes[i]), depth == 0 ? x : value * x, inner);
    }
  }

  void emit(std::uint32_t half, float value, std::uint32_t begin, std::uint32_t end) {
    auto& values = owner_ < 0 ? bank_.values_ : bank_.narrow_values_;
    const std::size_t at = values.size();
    values.resize(at + (end - begin));
    float* out = values.data() + at;
    for (std::uint32_t i = begin; i < end; ++i) *out++ = value * example_.values[i];
    if (!resolve_) return;
    if (values.size() > kMostExpanded) throw std::length_error("the products give too many features");
    auto& places = owner_ < 0 ? bank_.places_ : bank_.narrow_places_;
    places.resize(at + (end - begin));
    for (std::uint32_t i = begin; i < end; ++i) {
      const std::uint32_t index = (half ^ example_.hashes[i]) & bank_.mask_;
      places[at + i - begin] = owner_ < 0
                                   ? bank_.wide_place(index, learning_)
                                   : bank_.narrow_place(index, static_cast<std::uint32_t>(owner_), learning_);
    }
  }

  Bank& bank_;
  const Example& example_;
  bool resolve_, learning_;
  std::int64_t owner_ = -1;
  const GroupList* groups_ = nullptr;
  const std::vector<std::vector<Range>>* all_ = nullptr;
  std::vector<Range> ranges_;
};

bool Bank::same_as_before(const Example& example) const {
  if (!complete_ || example.hashes != last_hashes_ || example.runs.size() != last_runs_.size()) return false;
  return std::equal(example.runs.begin(), example.runs.end(), last_runs_.begin(), [](const Run& a, const Run& b) {
    return a.group == b.group && a.end == b.end;
  });
}

void Bank::remember(const Example& example) {
  last_hashes_ = example.hashes;
  last_runs_ = example.runs;
  ++expansion_;
}

void Bank::expand(const Example& example, bool learning) {
  const bool resolve = !same_as_before(example);
  const std::size_t single = example.hashes.size();
  values_.resize(single + 1);
  std::copy(example.values.begin(), example.values.end(), values_.begin());
  values_[single] = 1.0F;
  narrow_values_.clear();
  if (resolve) {
    complete_ = true;  // until a feature without a place is met
    places_.resize(single + 1);
    narrow_places_.clear();
    parts_.clear();
    try {
      for (std::size_t i = 0; i < single; ++i) places_[i] = wide_place(example.hashes[i] & mask_, learning);
      places_[single] = wide_place(kConstant & mask_, learning);
      const auto n = static_cast<std::uint32_t>(single);
      parts_.push_back({{0, n, 0}, -1});
      parts_.push_back({{n, n + 1, 1}, -1});
      expand_runs(example, true, learning);
      remember(example);
    } catch (...) {
      complete_ = false;
      last_hashes_.clear();
      last_runs_.clear();
      std::fill(run_of_.begin(), run_of_.end(), 0);
      throw;
    }
  } else if (!products_.empty()) {
    expand_runs(example, false, learning);
  }
}

void Bank::expand_runs(const Example& example, bool resolve, bool learning) {
  if (products_.empty()) return;
  if (run_of_.size() < groups_.size()) run_of_.resize(groups_.size());
  bool several = false;  // runs of one group
  for (std::uint32_t r = 0; r < example.runs.size(); ++r) {
    std::uint32_t& first = run_of_[example.runs[r].group];
    several |= first != 0;
    if (first == 0) first = r + 1;
  }
  Expansion expansion(*this, example, resolve, learning);
  // Narrow ones come last: by then no index can move from a narrow place to a wide one.
  for (const bool wide : {true, false}) {
    for (const Product& product : products_) {
      if ((product.owner < 0) == wide) expand_product(product, expansion, example, several);
    }
  }
  if (resolve) {  // in VW's order
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.segment.mask < b.segment.mask; });
  }
  for (const Run& run : example.runs) run_of_[run.group] = 0;
}

void Bank::expand_product(const Product& product, Expansion& expansion, const Example& example, bool several) {
  const auto missing = [this](std::uint32_t group) { return run_of_[group] == 0; };
  if (std::any_of(product.groups.begin(), product.groups.end(), missing)) return;
  const std::vector<float>& values = product.owner < 0 ? values_ : narrow_values_;
  const auto begin = static_cast<std::uint32_t>(values.size());
  if (several) {
    std::vector<std::vector<Range>> all(product.groups.size());
    for (std::size_t k = 0; k < all.size(); ++k) {
      for (const Run& run : example.runs) {
        if (run.group == product.groups[k]) all[k].push_back({run.begin, run.end});
      }
    }
    expansion.product(product, all);
  } else {
    ranges_.clear();
    for (const std::uint32_t group : product.groups) {
      const Run& run = example.runs[run_of_[group] - 1];
      ranges_.push_back({run.begin, run.end});
    }
    expansion.product(product, ranges_);
  }
  if (expansion.resolve()) {
    parts_.push_back({{begin, static_cast<std::uint32_t>(values.size()), product.mask}, product.owner});
  }
}

}  // namespace chacha
