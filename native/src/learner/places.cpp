#include "learner/places.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/bytes.hpp"
#include "vw/hashing.hpp"

namespace chacha {
namespace {

constexpr int kDirectBits = 24;  // beyond, a cell for every index takes too much memory

}  // namespace

Places::Places(int bits, std::size_t width)
    : bits_(bits), mask_(mask_of(bits)), wide_(width), narrow_(width) {
  live_.reserve(width);
}

std::uint32_t Places::new_wide(std::uint32_t index, bool learning) {
  if (learning) return add_wide(index);
  const auto holds = [&](std::size_t lane) { return narrow_[lane].holds(index); };
  if (std::any_of(live_.begin(), live_.end(), holds)) return add_wide(index);
  missing_ = true;
  return 0;
}

std::uint32_t Places::add_wide(std::uint32_t index) {
  const std::uint32_t place = wide_.add(index);
  for (const std::size_t lane : live_) {
    const NarrowWeights& narrow = narrow_[lane];
    const Weight wide = wide_.weight(place, lane);
    wide.adaptive() = narrow.initial_t();
    const std::uint32_t cell = narrow.find(index);
    if (cell == IndexMap::kNone) continue;
    moved_ = true;
    const float* from = narrow.cells() + std::size_t{cell} * 4;
    for (std::size_t k = 0; k < 4; ++k) wide.at[k * wide.stride] = from[k];
  }
  return place;
}

std::uint32_t Places::new_cell(std::uint32_t index, std::size_t lane) {
  const std::uint32_t cell = narrow_[lane].add(index);
  crowded_ |= bits_ <= kDirectBits && narrow_[lane].crowded(mask_);
  return cell;
}

bool Places::make_crowded_direct() noexcept {
  crowded_ = false;
  bool changed = false;
  for (const std::size_t lane : live_) {
    NarrowWeights& narrow = narrow_[lane];
    if (!narrow.crowded(mask_)) continue;
    try {
      wide_.keep_bits(mask_);
      narrow.make_direct(mask_);
      changed = true;
    } catch (const std::bad_alloc&) {
      break;
    }
  }
  return changed;
}

void Places::widen(std::size_t width) {
  std::vector<NarrowWeights> narrow(width);
  live_.reserve(width);
  wide_.widen(width);
  // From here on nothing throws.
  std::move(narrow_.begin(), narrow_.end(), narrow.begin());
  narrow_ = std::move(narrow);
}

void Places::occupy(std::size_t lane, NarrowWeights&& narrow) noexcept {
  narrow_[lane] = std::move(narrow);
  live_.push_back(lane);  // there is room
}

void Places::start(std::size_t lane, NarrowWeights&& narrow) noexcept {
  occupy(lane, std::move(narrow));
  wide_.start(lane, narrow_[lane].initial_t());
}

void Places::copy(std::size_t lane, std::size_t from, NarrowWeights&& narrow) noexcept {
  occupy(lane, std::move(narrow));
  wide_.copy(lane, from);
}

void Places::stop(std::size_t lane) {
  narrow_[lane] = NarrowWeights();
  live_.erase(std::find(live_.begin(), live_.end(), lane));
}

void Places::clear(std::size_t lane) {
  NarrowWeights none(narrow_[lane].initial_t());
  narrow_[lane] = std::move(none);
  wide_.clean(lane, narrow_[lane].initial_t());
}

Dump Places::dump(std::size_t lane) const {
  Dump weights;
  const auto add = [&](std::uint32_t index, const float* at, std::size_t stride) {
    if (at[0] == 0 && at[stride] == 0 && at[2 * stride] == 0) return;
    weights.index.push_back(index);
    weights.w.push_back(at[0]);
    weights.adaptive.push_back(at[stride]);
    weights.norm.push_back(at[2 * stride]);
  };
  for (std::uint32_t place = 1; place < wide_.places(); ++place) {
    add(wide_.index_of(place), wide_.weight(place, lane).at, wide_.width());
  }
  narrow_[lane].each([&](std::uint32_t index, const float* cell) {
    if (wide_.find(index) == IndexMap::kNone) add(index, cell, 1);
  });
  return weights;
}

void Places::load(std::size_t lane, const Dump& weights) {
  NarrowWeights none(narrow_[lane].initial_t());
  for (const std::uint32_t index : weights.index) {
    if (index > mask_) throw std::invalid_argument("an index has more bits than the model");
    wide(index, true);
  }
  // From here on nothing throws: weights are loaded as a whole, or not at all.
  narrow_[lane] = std::move(none);
  wide_.clean(lane, narrow_[lane].initial_t());
  for (std::size_t i = 0; i < weights.index.size(); ++i) {
    const Weight weight = wide_.weight(wide_.find(weights.index[i]), lane);
    weight.w() = weights.w[i];
    weight.adaptive() = weights.adaptive[i];
    weight.norm() = weights.norm[i];
  }
}

void Places::pull(std::size_t lane, float gravity, float contraction) noexcept {
  wide_.pull(lane, gravity, contraction);
  narrow_[lane].pull(gravity, contraction);
}

float Places::squared_gradients(std::size_t lane, bool constant) const {
  if (constant) {
    const std::uint32_t place = wide_.find(kConstant & mask_);
    if (place == IndexMap::kNone) return 0.0F;
    const Weight weight = wide_.weight(place, lane);
    return weight.norm() > 0.0F ? weight.adaptive() : 0.0F;
  }
  const Dump weights = dump(lane);
  std::vector<std::size_t> order;  // by index: the sum is then the same wherever weights lie
  for (std::size_t i = 0; i < weights.index.size(); ++i) {
    if (weights.norm[i] > 0.0F) order.push_back(i);
  }
  const auto before = [&](std::size_t a, std::size_t b) {
    return weights.index[a] < weights.index[b];
  };
  std::sort(order.begin(), order.end(), before);
  double sum = 0.0;
  for (const std::size_t i : order) {
    const auto norm = static_cast<double>(weights.norm[i]);
    sum += static_cast<double>(weights.adaptive[i]) / (norm * norm);
  }
  return order.empty() ? 0.0F : static_cast<float>(sum / static_cast<double>(order.size()));
}

std::size_t Places::bytes() const {
  std::size_t total = wide_.bytes() + bytes_of(narrow_, live_);
  for (const NarrowWeights& narrow : narrow_) total += narrow.bytes();
  return total;
}

}  // namespace chacha
