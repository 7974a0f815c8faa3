// The labels that were learned last, from which the scale of a model that starts is estimated.
// Twin: src/chacha/rules/recent_labels.py
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/spread.hpp"
#include "learner/label_map.hpp"

namespace chacha {

class RecentLabels {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kKept = kMost + 1;  // those, and one from before them
  static constexpr std::size_t kFewest = 32;       // labels that show whether they are skewed
  // Not 4, which whole numbers may be exactly: rounding would decide.
  static constexpr double kSkew = 4.0001;
  static constexpr double kBeyond = 8.0;  // scales

  void add(double label) noexcept { ring_[count_++ % kKept] = label; }
  std::uint64_t count() const { return count_; }
  double last() const { return ring_[(count_ - 1) % kKept]; }
  // Copies the last labels, and returns how many there are.
  std::size_t copy(std::size_t last, double* labels) const noexcept {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(count_, last));
    for (std::size_t i = 0; i < n; ++i) labels[i] = ring_[(count_ - 1 - i) % kKept];
    return n;
  }
  // Whether labels spread much more than in the scale of a model.
  bool beyond(const LabelMap& map) const noexcept {
    if (count_ < kKept) return false;
    std::array<double, kMost> labels;
    const std::size_t n = copy(kMost, labels.data());
    for (double& label : labels) label = map.mapped(label);
    return spread_of(labels.data(), n).scale > kBeyond * map.scale;
  }
  // Whether the largest labels are far from the median, and the smallest are not.
  bool skewed() const noexcept {
    std::array<double, kMost> labels;
    const std::size_t n = copy(kMost, labels.data());
    if (n < kFewest) return false;
    const double centre = spread_of(labels.data(), n).centre;  // sorts them
    return labels[n - 1] - centre > kSkew * (centre - labels[0]);
  }

 private:
  std::uint64_t count_ = 0;  // all labels so far
  std::array<double, kKept> ring_{};
};

}  // namespace chacha
