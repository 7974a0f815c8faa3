// The narrow table of one model: the weights of large products that no other model uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "base/index_map.hpp"
#include "learner/weight.hpp"

namespace chacha {

// An index has a cell once it is added. A direct table has a cell for every index there can be,
// and the number of a cell is its index.
class NarrowWeights {
 public:
  // `initial_t` is the adaptive sum that a new cell starts with.
  explicit NarrowWeights(float initial_t = 0.0F) : initial_t_(initial_t) {}

  // Return a copy whose new cells start with another adaptive sum.
  NarrowWeights copy(float initial_t) const;

  bool direct() const { return direct_; }
  float initial_t() const { return initial_t_; }
  float* cells() { return cells_.data(); }
  const float* cells() const { return cells_.data(); }
  std::size_t bytes() const { return map_.bytes() + cells_.capacity() * sizeof(float); }

  // Return the cell of an index, or IndexMap::kNone.
  std::uint32_t find(std::uint32_t index) const {
    if (direct_) return index;
    return map_.size() > 0 ? map_.find(index) : IndexMap::kNone;
  }
  // The same for a table that is not direct.
  std::uint32_t find_mapped(std::uint32_t index) const { return map_.find(index); }
  // Whether the model may have learned this index.
  bool holds(std::uint32_t index) const {
    const std::uint32_t cell = find(index);
    if (cell == IndexMap::kNone) return false;
    return !direct_ || cells_[std::size_t{cell} * 4 + 2] != 0;  // it has a norm
  }

  // Add a cell for an index that has none, to a table that is not direct.
  std::uint32_t add(std::uint32_t index);
  // Whether the table is worth making direct, where `mask` is the largest index.
  bool crowded(std::uint32_t mask) const { return !direct_ && map_.size() > mask / kDirectShare; }
  // Make the table direct. Throws without memory for it; the table then stays as it was.
  void make_direct(std::uint32_t mask);

  // Apply l1 and l2 to the weights themselves.
  void pull(float gravity, float contraction) noexcept;

  // Call visit(index, cell) for every cell, where a cell is four floats.
  template <class Visit>
  void each(Visit visit) const {
    if (!direct_) {
      map_.each([&](std::uint32_t index, std::uint32_t cell) {
        visit(index, cells_.data() + std::size_t{cell} * 4);
      });
      return;
    }
    const auto count = static_cast<std::uint32_t>(cells_.size() / 4);
    for (std::uint32_t index = 0; index < count; ++index) {
      visit(index, cells_.data() + std::size_t{index} * 4);
    }
  }

 private:
  static constexpr std::uint32_t kDirectShare = 8;  // N: crowded if over 1 in N indices has a cell

  IndexMap map_;
  std::vector<float, Aligned<float>> cells_;  // w, adaptive sum, norm, rate of each
  bool direct_ = false;
  float initial_t_;
};

}  // namespace chacha
