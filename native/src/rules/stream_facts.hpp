// What the stream has shown so far: the label range, the groups, the distinct features of each.
// Twin: src/chacha/rules/stream_facts.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "data/example.hpp"
#include "data/groups.hpp"
#include "learner/bank.hpp"

namespace chacha {

// A growing set of features: pairs of a group and a hash.
class FeatureSet {
 public:
  FeatureSet() : entries_(16, kEmpty) {}

  // Makes room for `n` more, so that `add` does not throw.
  void reserve(std::size_t n);
  // True if the feature is new. Needs room.
  bool add(std::uint32_t group, std::uint32_t hash);
  std::size_t bytes() const { return entries_.size() * sizeof(std::uint64_t); }

 private:
  static constexpr std::uint64_t kEmpty = 0xffffffffffffffffULL;
  static std::size_t mixed(std::uint64_t key) {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> 20);
  }

  std::vector<std::uint64_t> entries_;  // open addressing
  std::size_t size_ = 0;
};

class ObservedStream {
 public:
  explicit ObservedStream(int bits) : bits_(bits), mask_(mask_of(bits)) {
    if (bits < 1 || bits > 32) {
      throw std::invalid_argument("features are counted at 1 to 32 bits");
    }
  }

  int bits() const { return bits_; }

  // Makes room, so that `observe` does not throw. Returns whether a group is new. `empty`: groups
  // of the example without a feature. May throw, and has no visible effect then.
  bool prepare(const Example& example, const std::vector<std::uint32_t>& empty,
               const Groups& groups);
  // Counts an example. True if the size of a group changed. `bank` has expanded the example and
  // remembers which features it has seen; it may be null.
  bool observe(const Example& example, const std::vector<std::uint32_t>& empty,
               Bank* bank) noexcept;
  // The same for an example without new features.
  bool observe_label(const Example& example, const std::vector<std::uint32_t>& empty) noexcept;

  double low() const { return low_; }
  double high() const { return high_; }
  std::uint64_t raw_features() const { return raw_features_; }
  // Distinct features of a group; 0 if it has none or never appeared.
  double size_of(std::uint32_t group) const {
    return group < sizes_.size() && sizes_[group] > 0 ? static_cast<double>(sizes_[group]) : 0.0;
  }
  bool has(std::uint32_t group) const { return group < sizes_.size() && sizes_[group] >= 0; }
  std::int64_t exact_size(std::uint32_t group) const { return sizes_[group]; }
  // The number of features of a configuration with these products (d_c).
  double complexity(const std::vector<std::vector<std::uint32_t>>& products) const;
  std::size_t bytes() const { return features_.bytes() + sizes_.capacity() * sizeof(std::int64_t); }

 private:
  int bits_;
  std::uint32_t mask_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> sizes_;  // by group; -1: it never appeared
  std::uint64_t raw_features_ = 0;
  FeatureSet features_;
};

}  // namespace chacha
