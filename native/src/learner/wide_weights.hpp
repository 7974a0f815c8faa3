// The wide table of a bank: the weights of all its models, interleaved by lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "base/index_map.hpp"
#include "learner/weight.hpp"

namespace chacha {

// An index has a place once it is added; a place has a weight for every lane. Place 0 belongs to
// no index and stays zero: all features without a place share it.
class WideWeights {
 public:
  explicit WideWeights(std::size_t width);

  std::size_t width() const { return width_; }
  std::uint32_t places() const { return places_; }  // place 0 included
  float* table() const { return table_.get(); }
  std::size_t bytes() const;

  // Return the place of an index, or IndexMap::kNone.
  std::uint32_t find(std::uint32_t index) const { return map_.find(index); }
  std::uint32_t index_of(std::uint32_t place) const { return index_of_[place]; }
  // Return 1 + the group of the first single feature that was seen at a place; 0: none was.
  std::uint32_t& first_group(std::uint32_t place) { return first_group_[place]; }
  Weight weight(std::uint32_t place, std::size_t lane) const {
    return {table_.get() + std::size_t{place} * 4 * width_ + lane, width_};
  }
  CHACHA_INLINE void prefetch(std::uint32_t place) const {
    if (table_.size() <= kCached) return;
    const float* at = table_.get() + std::size_t{place} * 4 * width_;
    for (std::size_t k = 0; k < 4 * width_; k += 16) __builtin_prefetch(at + k, 1);
  }

  // Add a place for an index that has none, with weights of zero.
  std::uint32_t add(std::uint32_t index);
  // Make room for more lanes. Throws without memory; the table then stays as it was.
  void widen(std::size_t width);

  // Keep a bit for every index up to `mask`, set if it has a place. Throws without memory.
  void keep_bits(std::uint32_t mask);
  const std::uint64_t* bits() const { return bits_.data(); }

  // Give a lane to a new model, whose adaptive sums start with `initial_t`.
  void start(std::size_t lane, float initial_t) noexcept;
  void copy(std::size_t lane, std::size_t from) noexcept;
  void clean(std::size_t lane, float initial_t) noexcept;
  // Apply l1 and l2 to the weights of a lane themselves.
  void pull(std::size_t lane, float gravity, float contraction) noexcept;

 private:
  static constexpr std::size_t kCached = std::size_t{1} << 15;  // floats that stay in the cache

  void reserve(std::size_t places);
  void set_bit(std::uint32_t index) { bits_[index >> 6] |= std::uint64_t{1} << (index & 63U); }

  std::size_t width_;
  AlignedFloats table_;
  std::uint32_t places_ = 1;
  IndexMap map_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> index_of_, first_group_;  // by place
  std::vector<unsigned char> dirty_;                   // by lane: a model has had it
};

}  // namespace chacha
