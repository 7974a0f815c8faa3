// The products and derived groups of all live models of a bank, and which lanes use each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/groups.hpp"
#include "learner/lanes.hpp"

namespace chacha {

// A product of two or more groups.
struct Product {
  GroupList groups;
  std::int64_t owner;  // the only lane that uses it, or -1
  std::uint32_t mask;
};

// A mask has -1 for each lane that uses some features, else 0. Mask 0 is of the features that all
// live models use, mask 1 of the constant; the others are of products and derived groups.
class LiveProducts {
 public:
  // Collect the products of the live models, for masks of `width` lanes. May throw; then nothing
  // has changed.
  void collect(const Lanes& lanes, const Groups& groups, std::size_t width);
  void undamp(std::uint32_t lane, bool any_damped) noexcept;

  std::size_t bytes() const;
  std::uint64_t version() const { return version_; }             // changes with every collection
  const std::vector<Product>& all() const { return products_; }  // in VW's order
  // Return the mask of a derived group; 0: no live model has it.
  std::uint32_t mask_of_group(std::uint32_t group) const {
    return group < mask_of_group_.size() ? mask_of_group_[group] : 0;
  }
  std::uint32_t mask_of_constant() const { return mask_of_constant_; }
  const std::int32_t* masks() const { return masks_.data(); }
  const float* seeds() const { return seeds_.empty() ? nullptr : seeds_.data(); }

 private:
  std::uint64_t version_ = 0;
  std::size_t width_ = 0;
  std::vector<Product> products_;
  std::vector<std::uint32_t> mask_of_group_;
  std::uint32_t mask_of_constant_ = 0;  // 0 if all have a constant: fewer segments
  std::vector<std::int32_t> masks_;     // width_ each
  std::vector<float> seeds_;            // laid out as the masks; empty if nothing is damped
};

}  // namespace chacha
