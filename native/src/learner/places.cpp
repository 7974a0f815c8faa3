// Finding the places of an example's features: single ones, the constant, products.
#include <algorithm>

#include "learner/bank.hpp"

namespace chacha {
namespace {

constexpr std::size_t kNear = std::size_t{1} << 15;  // floats that are in the cache anyway

}  // namespace

std::uint32_t Bank::new_place(std::uint32_t index, bool learning) {
  if (learning || in_narrow(index)) return add_place(index);
  complete_ = false;
  return 0;
}

inline __attribute__((always_inline)) std::uint32_t Bank::wide_place(std::uint32_t index, bool learning) {
  std::uint32_t place = wide_.find(index);
  if (place == IndexMap::kNone) place = new_place(index, learning);
  if (table_.size() > kNear) {
    const float* at = table_.get() + std::size_t{place} * 4 * width_;
    for (std::size_t k = 0; k < 4 * width_; k += 16) __builtin_prefetch(at + k, 1);
  }
  return place;
}

// The same, for callers elsewhere.
std::uint32_t Bank::place_of(std::uint32_t index, bool learning) { return wide_place(index, learning); }

namespace {

// Calls visit(half, first, last) for the features of a product of ranges, in VW's order: the hashes
// of those from first to last, each joined with half.
template <class Range, class Visit>
void each_stretch(const Range* ranges, std::uint32_t left, const std::uint32_t* hashes, std::uint32_t half,
                  std::uint32_t begin, Visit& visit) {
  if (left == 1) {
    visit(half, hashes + begin, hashes + ranges->end);
    return;
  }
  for (std::uint32_t i = begin; i < ranges->end; ++i) {
    const std::uint32_t inner = ranges[1].begin == ranges->begin ? i : ranges[1].begin;
    each_stretch(ranges + 1, left - 1, hashes, kFnvPrime * (half ^ hashes[i]), inner, visit);
  }
}

}  // namespace

// The places of the features of one recipe.
void Bank::resolve(const Recipe& recipe, const Example& example, bool learning) {
  if (recipe.owner >= 0 && lanes_[static_cast<std::size_t>(recipe.owner)].narrow.direct) {
    resolve_direct(recipe, example);
    return;
  }
  const Range* ranges = recipe_ranges_.data() + recipe.first;
  const std::uint32_t* const hashes = example.hashes.data();
  std::uint32_t* out = (recipe.owner < 0 ? places_ : narrow_places_).data() + recipe.at;
  const auto fill = [&](auto place) {
    auto visit = [&](std::uint32_t half, const std::uint32_t* first, const std::uint32_t* last) {
      std::uint32_t* to = out;
      for (; first < last; ++first) *to++ = place((half ^ *first) & mask_);
      out = to;
    };
    if (recipe.form == Form::kPair) {
      *out = place((kFnvPrime * hashes[ranges[0].begin] ^ hashes[ranges[1].begin]) & mask_);
    } else if (recipe.form == Form::kTwo) {
      for (std::uint32_t i = ranges[0].begin; i < ranges[0].end; ++i) {
        visit(kFnvPrime * hashes[i], hashes + ranges[1].begin, hashes + ranges[1].end);
      }
    } else {
      each_stretch(ranges, recipe.length, hashes, 0, ranges->begin, visit);
    }
  };
  const auto lane = static_cast<std::uint32_t>(recipe.owner);
  if (recipe.owner < 0) {
    fill([&](std::uint32_t index) { return wide_place(index, learning); });
  } else {
    fill([&](std::uint32_t index) { return narrow_place(index, lane, learning); });
  }
}

// Where there is a cell for every index. Which have a wide place cannot be foretold: they are noted
// without a branch, and looked up behind.
void Bank::resolve_direct(const Recipe& recipe, const Example& example) {
  const Range* ranges = recipe_ranges_.data() + recipe.first;
  const float* const cells = lanes_[static_cast<std::size_t>(recipe.owner)].narrow.cells.data();
  std::uint32_t* const places = narrow_places_.data();
  std::uint32_t* const noted = noted_.data();
  std::uint32_t at = recipe.at;
  std::size_t count = 0;
  auto visit = [&](std::uint32_t half, const std::uint32_t* first, const std::uint32_t* last) {
    const std::uint64_t* const bits = wide_bits_.data();
    const std::uint32_t mask = mask_;
    std::uint32_t feature = at;
    std::size_t wide = count;
    for (; first < last; ++first, ++feature) {
      const std::uint32_t index = (half ^ *first) & mask;
      __builtin_prefetch(cells + std::size_t{index} * 4, 1);
      noted[wide] = feature;
      wide += (bits[index >> 6] >> (index & 63U)) & 1U;
      places[feature] = index;
    }
    at = feature;
    count = wide;
  };
  each_stretch(ranges, recipe.length, example.hashes.data(), 0, ranges->begin, visit);
  for (std::size_t i = 0; i < count; ++i) places[noted[i]] = wide_.find(places[noted[i]]) | kInWide;
}

namespace {

// The values of a product of ranges, in the order of its places. Returns where they end.
template <class Range>
float* multiply(const Range* ranges, std::uint32_t left, const float* x, float value, std::uint32_t begin, float* out) {
  if (left == 1) {
    for (std::uint32_t i = begin; i < ranges->end; ++i) *out++ = value * x[i];
    return out;
  }
  for (std::uint32_t i = begin; i < ranges->end; ++i) {
    const std::uint32_t inner = ranges[1].begin == ranges->begin ? i : ranges[1].begin;
    out = multiply(ranges + 1, left - 1, x, value * x[i], inner, out);
  }
  return out;
}

}  // namespace

// Whether the runs are those of the last example: then most places are known.
bool Bank::same_shape(const Example& example) const {
  if (!complete_ || example.runs.size() != last_runs_.size()) return false;
  return std::equal(example.runs.begin(), example.runs.end(), last_runs_.begin(), [](const Run& a, const Run& b) {
    return a.group == b.group && a.end == b.end;
  });
}

void Bank::expand(const Example& example, bool learning, bool again) {
  if (stale_) rebuild();
  if (crowded_) grow_narrow();
  if (again && complete_ && example.runs.size() == last_runs_.size()) {  // else there were derived groups
    cook(example);
    return;
  }
  const bool same = same_shape(example);
  if (!same || example.hashes != last_hashes_) {
    try {
      moved_ = false;
      if (same) {
        refresh(example, learning);
      } else {
        renew(example, learning);
      }
      const std::size_t raw = example.raw_features();
      const bool known = same && std::equal(last_hashes_.begin(), last_hashes_.begin() + raw, example.hashes.begin());
      last_hashes_ = example.hashes;
      if (!known) ++expansion_;
    } catch (...) {
      complete_ = false;
      throw;
    }
  }
  cook(example);
}

// Another shape than before: everything is looked up.
void Bank::renew(const Example& example, bool learning) {
  const std::size_t single = example.raw_features();
  complete_ = true;  // until a feature without a place is met
  places_.resize(single + 1);
  pieces_.clear();
  recipes_.clear();
  recipe_ranges_.clear();
  for (std::size_t i = 0; i < single; ++i) places_[i] = wide_place(example.hashes[i] & mask_, learning);
  places_[single] = wide_place(kConstant & mask_, learning);
  std::size_t wide = single + 1;
  write_derived(example, wide);
  write_singles(example);
  write_recipes(example, wide);
  // Narrow ones come last: by then no index can move from a narrow place to a wide one.
  for (const Recipe& recipe : recipes_) {
    if (recipe.owner < 0) resolve(recipe, example, learning);
  }
  for (const Recipe& recipe : recipes_) {
    if (recipe.owner >= 0) resolve(recipe, example, learning);
  }
  order_parts();
  last_runs_ = example.runs;
}

// The shape of the last example: only what hangs on features that differ is looked up.
void Bank::refresh(const Example& example, bool learning) {
  const std::size_t n = example.hashes.size();
  changed_.resize(n + 1);  // how many before each
  changed_[0] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool changed = example.hashes[i] != last_hashes_[i];
    changed_[i + 1] = changed_[i] + (changed ? 1U : 0U);
    if (changed && i < example.raw_features()) places_[i] = wide_place(example.hashes[i] & mask_, learning);
  }
  const auto touched = [this](const Recipe& recipe) {
    const Range* const ranges = recipe_ranges_.data() + recipe.first;
    std::uint32_t changes = 0;
    for (std::uint32_t k = 0; k < recipe.length; ++k) changes += changed_[ranges[k].end] - changed_[ranges[k].begin];
    return changes > 0;
  };
  for (const Recipe& recipe : recipes_) {
    if (recipe.owner < 0 && touched(recipe)) resolve(recipe, example, learning);
  }
  for (const Recipe& recipe : recipes_) {
    if (recipe.owner >= 0 && (moved_ || touched(recipe))) resolve(recipe, example, learning);
  }
}

// The values of all features, where their places are known.
void Bank::cook(const Example& example) {
  const float* x = example.values.data();
  const std::size_t single = example.raw_features();
  std::copy_n(x, single, values_.data());
  values_[single] = 1.0F;
  for (const Recipe& recipe : recipes_) {
    const Range* ranges = recipe_ranges_.data() + recipe.first;
    float* to = (recipe.owner < 0 ? values_ : narrow_values_).data() + recipe.at;
    if (recipe.form == Form::kPair) {
      *to = x[ranges[0].begin] * x[ranges[1].begin];
      continue;
    }
    if (recipe.form == Form::kSingle) {
      std::copy(x + ranges->begin, x + ranges->end, to);
      continue;
    }
    for (std::uint32_t i = ranges->begin; i < ranges->end; ++i) {
      const std::uint32_t inner = ranges[1].begin == ranges->begin ? i : ranges[1].begin;
      if (recipe.form == Form::kTwo) {
        for (std::uint32_t j = inner; j < ranges[1].end; ++j) *to++ = x[i] * x[j];
      } else {
        to = multiply(ranges + 1, recipe.length - 1, x, x[i], inner, to);
      }
    }
  }
}

}  // namespace chacha
