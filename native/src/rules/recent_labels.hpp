// The labels that were learned last, from which the scale of a model that starts is estimated.
// Twin: src/chacha/rules/recent_labels.py
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/spread.hpp"

namespace chacha {

class RecentLabels {
 public:
  static constexpr std::size_t kMost = 64;

  void add(double label) noexcept { ring_[count_++ % kMost] = label; }
  std::uint64_t count() const { return count_; }
  // Of the last labels.
  Spread spread(std::size_t last = kMost) const noexcept {
    std::array<double, kMost> labels;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(count_, last));
    for (std::size_t i = 0; i < n; ++i) labels[i] = ring_[(count_ - 1 - i) % kMost];
    return n > 0 ? spread_of(labels.data(), n) : Spread();
  }

 private:
  std::uint64_t count_ = 0;  // all labels so far
  std::array<double, kMost> ring_{};
};

}  // namespace chacha
