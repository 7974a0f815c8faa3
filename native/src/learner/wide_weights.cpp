#include "learner/wide_weights.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace chacha {
namespace {

constexpr std::size_t kFewestPlaces = 4;
constexpr std::size_t kFewPlaces = 128;  // so many take little time to copy

// How many places to make room for. A small table grows in small steps, to stay small.
std::size_t grown(std::size_t places) {
  return places < kFewPlaces ? places + kFewestPlaces : places + places / 2;
}

}  // namespace

WideWeights::WideWeights(std::size_t width)
    : width_(width),
      table_(kFewestPlaces * 4 * width),
      index_of_(1),
      first_group_(1),
      dirty_(width) {}

void WideWeights::widen(std::size_t width) {
  AlignedFloats table(grown(places_) * 4 * width);
  dirty_.resize(width);
  // From here on nothing throws.
  for (std::size_t row = 0; row < std::size_t{places_} * 4; ++row) {
    const float* from = table_.get() + row * width_;
    std::copy(from, from + width_, table.get() + row * width);
  }
  table_ = std::move(table);
  width_ = width;
}

void WideWeights::reserve(std::size_t places) {
  const std::size_t stride = 4 * width_;
  if (places * stride <= table_.size()) return;
  if (places >= kInWide - 1) throw std::length_error("too many weights");
  AlignedFloats larger(std::max(places, grown(places_)) * stride);
  std::copy(table_.get(), table_.get() + std::size_t{places_} * stride, larger.get());
  table_ = std::move(larger);
}

std::uint32_t WideWeights::add(std::uint32_t index) {
  reserve(std::size_t{places_} + 1);
  index_of_.resize(places_);  // after a failure there may be one too many
  first_group_.resize(places_);
  index_of_.push_back(index);
  first_group_.push_back(0);
  map_.add(index, places_);
  if (!bits_.empty()) set_bit(index);
  return places_++;
}

void WideWeights::keep_bits(std::uint32_t mask) {
  if (!bits_.empty()) return;
  bits_.assign(mask / 64 + 1, 0);
  for (std::uint32_t place = 1; place < places_; ++place) set_bit(index_of_[place]);
}

void WideWeights::start(std::size_t lane, float initial_t) noexcept {
  if (dirty_[lane] != 0 || initial_t > 0) clean(lane, initial_t);
  dirty_[lane] = 1;
}

void WideWeights::copy(std::size_t lane, std::size_t from) noexcept {
  for (std::size_t row = 0; row < std::size_t{places_} * 4; ++row) {
    table_.get()[row * width_ + lane] = table_.get()[row * width_ + from];
  }
  dirty_[lane] = 1;
}

void WideWeights::clean(std::size_t lane, float initial_t) noexcept {
  for (std::uint32_t place = 1; place < places_; ++place) {
    const Weight at = weight(place, lane);
    at.w() = at.norm() = at.rate() = 0.0F;
    at.adaptive() = initial_t;
  }
}

void WideWeights::pull(std::size_t lane, float gravity, float contraction) noexcept {
  for (std::uint32_t place = 1; place < places_; ++place) {
    const Weight at = weight(place, lane);
    at.w() = at.pulled(gravity) * contraction;
  }
}

std::size_t WideWeights::bytes() const {
  const std::size_t numbers = index_of_.capacity() + first_group_.capacity();
  return table_.size() * sizeof(float) + map_.bytes() + numbers * sizeof(std::uint32_t) +
         bits_.capacity() * sizeof(std::uint64_t) + dirty_.capacity();
}

}  // namespace chacha
