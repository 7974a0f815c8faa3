// The progressive validation loss of a model.
// Twin: src/chacha/rules/progressive_loss.py.
#pragma once

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

}  // namespace chacha
