// Labels as a model learns them: less a shift, in units of a scale.
// Twin: src/chacha/data/label_map.py; expressions keep its order, so the bits are the same.
#pragma once

#include <algorithm>
#include <cmath>

#include "data/example.hpp"

namespace chacha {

struct LabelMap {
  static constexpr double kMost = 1073741824.0;  // scales; labels farther away count as that
  static constexpr double kDecay = 0.999;        // of the sums of the correction, per example
  static constexpr double kPrior = 8.0;          // examples that the correction begins with
  static constexpr double kLargest = 4.0;        // correction

  bool scaled = false;  // if not, labels are learned as they are
  double shift = 0.0;
  double scale = 0.0;  // 0: not known yet; nothing is learned

  // Instead of the label, its logarithm: log(1 + v) with v = (label - low)/unit, and for v < 0 the
  // mirror image of it. `shift` and `scale` are then of the logarithm.
  bool log = false;
  double low = 0.0, unit = 1.0;
  // The mean of a label is above the exponential of the mean of its logarithm. The factor between
  // them is that of least squares: decayed sums over the examples.
  bool corrected = false;
  double products = 0.0, squares = 0.0, count = 0.0;

  // If there is no scale, the first label that differs shows it.
  void find_scale(double y) {
    if (scale > 0.0) return;
    if (log && y != low) unit = std::fabs(y - low);
    scale = std::fabs(mapped(y) - shift);
  }

  double mapped(double y) const {
    if (!log) return y;
    const double v = (y - low) / unit;
    return v >= 0.0 ? std::log1p(v) : -std::log1p(-v);
  }
  float to_learner(const Example& example) const {
    if (!scaled) return example.label;
    if (!(scale > 0.0)) return 0.0F;
    const double z = (mapped(example.target - example.base) - shift) / scale;
    return static_cast<float>(std::min(std::max(z, -kMost), kMost));
  }
  double to_user(double raw, double base) const {
    if (!scaled) return raw;
    if (!log) return base + shift + scale * raw;
    const double t = shift + scale * raw;
    return base + low + unit * ((t >= 0.0 ? correction() : 1.0) * one_more(t) - 1.0);
  }
  // An example that was learned, and what was predicted for it. Without a scale the unit is not
  // known either, and nothing is corrected.
  void observe(const Example& example, double raw) {
    if (!corrected || !(scale > 0.0) || !(example.weight > 0.0F)) return;
    const double t = shift + scale * raw;
    if (t < 0.0) return;
    const double v = (example.target - example.base - low) / unit + 1.0;
    const double e = one_more(t);
    products = products * kDecay + v * e;
    squares = squares * kDecay + e * e;
    count = count * kDecay + 1.0;
  }

  // The factor for the mean of labels whose logarithms are predicted.
  double correction() const {
    if (!(count > 0.0)) return 1.0;
    const double prior = kPrior * squares / count;
    const double factor = (products + prior) / (squares + prior);
    return std::min(std::max(factor, 1.0 / kLargest), kLargest);
  }

 private:
  // 1 + v of a logarithm.
  static double one_more(double t) { return t >= 0.0 ? std::exp(t) : 2.0 - std::exp(-t); }
};

}  // namespace chacha
