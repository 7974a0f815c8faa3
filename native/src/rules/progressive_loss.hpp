// The progressive validation loss of a model.
// Twin: src/chacha/rules/progressive_loss.py.
#pragma once

#include <cmath>
#include <cstdint>

namespace chacha {

struct ProgressiveLoss {
  std::int64_t n = 0;
  double total = 0.0;
  double weight = 0.0;

  void add(double loss, double importance) {
    ++n;
    total += importance * loss;
    weight += importance;
  }
  double mean() const { return weight > 0 ? total / weight : 0.0; }
};

// A progressive loss of which parts are known, too, after losses that are much larger.
struct RunningLoss : ProgressiveLoss {
  double lost = 0.0;  // what rounding has taken from the total

  void add(double loss, double importance) {
    const double before = total;
    const double added = importance * loss;
    ProgressiveLoss::add(loss, importance);
    if (!std::isfinite(total)) return;
    const double kept = total - before;  // Knuth's TwoSum
    lost += (before - (total - kept)) + (added - kept);
  }
};

}  // namespace chacha
