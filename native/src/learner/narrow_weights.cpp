#include "learner/narrow_weights.hpp"

#include <algorithm>
#include <utility>

namespace chacha {

NarrowWeights NarrowWeights::copy(float initial_t) const {
  NarrowWeights other = *this;
  other.initial_t_ = initial_t;
  return other;
}

std::uint32_t NarrowWeights::add(std::uint32_t index) {
  const std::uint32_t cell = map_.size();
  cells_.resize(std::size_t{cell + 1} * 4);
  cells_[std::size_t{cell} * 4 + 1] = initial_t_;
  map_.add(index, cell);
  return cell;
}

void NarrowWeights::make_direct(std::uint32_t mask) {
  NarrowWeights larger(initial_t_);
  larger.direct_ = true;
  larger.cells_.resize((std::size_t{mask} + 1) * 4);
  for (std::size_t at = 1; at < larger.cells_.size(); at += 4) larger.cells_[at] = initial_t_;
  each([&](std::uint32_t index, const float* cell) {
    std::copy_n(cell, 4, larger.cells_.data() + std::size_t{index} * 4);
  });
  *this = std::move(larger);
}

void NarrowWeights::pull(float gravity, float contraction) noexcept {
  for (std::size_t at = 0; at < cells_.size(); at += 4) {
    const Weight weight{cells_.data() + at, 1};
    weight.w() = weight.pulled(gravity) * contraction;
  }
}

}  // namespace chacha
