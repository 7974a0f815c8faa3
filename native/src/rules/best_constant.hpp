// The best constant prediction for the labels so far: what a model without features could serve.
// Twin: src/chacha/rules/best_constant.py; expressions keep its order, so the bits are the same.
#pragma once

#include "rules/served_loss.hpp"

namespace chacha {

struct BestConstant {
  double total = 0.0;  // of the labels, weighted
  double weight = 0.0;
  double positive = 0.5;  // the weight of the labels above 0, and half an example more
  double negative = 0.5;

  // On the learner's scale. For a loss with `has_constant`.
  double raw(const ServedLoss& loss) const {
    const double mean = weight > 0 ? total / weight : 0.0;
    return loss.constant(mean, positive, negative);
  }
  void add(double y, double importance) {
    total += importance * y;
    weight += importance;
    (y > 0 ? positive : negative) += importance;
  }
};

}  // namespace chacha
