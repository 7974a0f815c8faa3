// Index of a feature -> place of its weights, in the wide table or in a model's narrow table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "learner/model.hpp"
#include "learner/narrow_weights.hpp"
#include "learner/wide_weights.hpp"

namespace chacha {

// A model has one weight for an index, wherever it lies: in the wide table if the index has a place
// there, else in the model's narrow table. An index that gets a wide place takes the weights of the
// narrow tables along; the cells that it leaves behind are not read again.
class Places {
 public:
  Places(int bits, std::size_t width);

  int bits() const { return bits_; }
  std::uint32_t mask() const { return mask_; }  // the largest index
  std::size_t width() const { return wide_.width(); }
  // The weights themselves, for the passes over an example's features, which change them.
  float* table() const { return wide_.table(); }
  float* cells(std::size_t lane) { return narrow_[lane].cells(); }
  std::uint32_t& first_group(std::uint32_t place) { return wide_.first_group(place); }
  std::size_t bytes() const;

  // Lookups. With `learning` an index without a place gets one; without, it shares place 0.
  CHACHA_INLINE std::uint32_t wide(std::uint32_t index, bool learning) {
    std::uint32_t place = wide_.find(index);
    if (place == IndexMap::kNone) place = new_wide(index, learning);
    wide_.prefetch(place);
    return place;
  }
  // Return a cell of the lane's narrow table, or a wide place with kInWide set. Not for a direct
  // table.
  CHACHA_INLINE std::uint32_t narrow(std::uint32_t index, std::size_t lane, bool learning) {
    const std::uint32_t place = wide_.find(index);
    if (place != IndexMap::kNone) return place | kInWide;
    std::uint32_t cell = narrow_[lane].find_mapped(index);
    if (cell == IndexMap::kNone) {
      if (!learning) {
        missing_ = true;
        return 0 | kInWide;
      }
      cell = new_cell(index, lane);
    }
    __builtin_prefetch(narrow_[lane].cells() + std::size_t{cell} * 4, 1);
    return cell;
  }
  // For a direct table, where the index is the cell unless its bit is set.
  bool direct(std::size_t lane) const { return narrow_[lane].direct(); }
  const std::uint64_t* wide_bits() const { return wide_.bits(); }
  std::uint32_t wide_marked(std::uint32_t index) const { return wide_.find(index) | kInWide; }

  // What happened in lookups since the last call of `begin_lookups`.
  void begin_lookups() { missing_ = moved_ = false; }
  bool missing() const { return missing_; }  // an index has no place
  bool moved() const { return moved_; }      // an index moved from a narrow table to the wide one

  // Make crowded narrow tables direct, so that nothing is looked up in them; without memory they
  // stay as they are. Returns whether places have changed.
  bool crowded() const { return crowded_; }
  bool make_crowded_direct() noexcept;

  // Models. What throws leaves everything as it was.
  void widen(std::size_t width);
  void start(std::size_t lane, NarrowWeights&& narrow) noexcept;
  void copy(std::size_t lane, std::size_t from, NarrowWeights&& narrow) noexcept;
  void stop(std::size_t lane);
  // Set all weights of a lane to zero.
  void clear(std::size_t lane);
  NarrowWeights narrow_copy(std::size_t lane, float initial_t) const {
    return narrow_[lane].copy(initial_t);
  }

  Dump dump(std::size_t lane) const;
  void load(std::size_t lane, const Dump& weights);
  // Apply l1 and l2 to the weights of a lane themselves.
  void pull(std::size_t lane, float gravity, float contraction) noexcept;
  // Return the sum of the squared gradients that a model has seen: that of its constant, or without
  // a constant the average over its weights, each as if all its values had been 1.
  float squared_gradients(std::size_t lane, bool constant) const;

 private:
  std::uint32_t new_wide(std::uint32_t index, bool learning);
  std::uint32_t new_cell(std::uint32_t index, std::size_t lane);
  std::uint32_t add_wide(std::uint32_t index);
  void occupy(std::size_t lane, NarrowWeights&& narrow) noexcept;

  int bits_;
  std::uint32_t mask_;
  WideWeights wide_;
  std::vector<NarrowWeights> narrow_;  // by lane
  std::vector<std::size_t> live_;      // lanes that have a model
  bool crowded_ = false;
  bool missing_ = false;
  bool moved_ = false;
};

}  // namespace chacha
