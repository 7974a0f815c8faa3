// Labels as a model learns them: less a shift, in units of a scale.
// Twin: src/chacha/data/label_map.py; expressions keep its order, so the bits are the same.
#pragma once

#include <algorithm>
#include <cmath>

#include "data/example.hpp"

namespace chacha {

struct LabelMap {
  static constexpr double kMost = 1073741824.0;  // scales; labels farther away count as that

  bool scaled = false;  // if not, labels are learned as they are
  double shift = 0.0;
  double scale = 0.0;  // 0: not known yet; nothing is learned

  // If there is no scale, the first label that differs shows it.
  void find_scale(double y) {
    if (!(scale > 0.0)) scale = std::fabs(y - shift);
  }

  float to_learner(const Example& example) const {
    if (!scaled) return example.label;
    if (!(scale > 0.0)) return 0.0F;
    const double z = (example.target - example.base - shift) / scale;
    return static_cast<float>(std::min(std::max(z, -kMost), kMost));
  }
  double to_user(double raw, double base) const {
    return scaled ? base + shift + scale * raw : raw;
  }
};

}  // namespace chacha
