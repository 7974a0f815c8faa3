// The paper's bounds and tests.
// Twin: src/chacha/rules/paper/bounds.py; expressions keep its order, so the bits are the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "rules/progressive_loss.hpp"

namespace chacha {

struct Bound {
  double mean = 0.0;
  double epsilon = std::numeric_limits<double>::infinity();
  double upper() const { return mean + epsilon; }
  double lower() const { return mean - epsilon; }
};

inline bool better_than(const Bound& c, const Bound& champion) {
  return c.upper() < champion.lower() - champion.epsilon;
}
inline bool worse_than(const Bound& c, const Bound& champion) {
  return c.lower() > champion.upper();
}

struct SampleComplexity {
  double scale = 0.05;
  double delta = 0.1;
  bool log_in_root = true;
  double p = 0.5;
  bool has_comp = false;
  double comp = 0.0;
  bool natural = true;  // the base of the logarithm is e
  double log_of_base = 1.0;
  bool count_challengers = true;
  std::int64_t burn_in = 0;

  // log(n·|S|/δ); models that started together share it.
  double logarithm(std::int64_t n, std::int64_t challengers) const {
    const std::int64_t s = count_challengers ? std::max<std::int64_t>(challengers, 1) : 1;
    const double log = std::log(static_cast<double>(n * s) / delta);
    return natural ? log : log / log_of_base;
  }

  Bound bound(const ProgressiveLoss& standing, double d, double log, double loss_range) const {
    if (standing.n == 0) return {};
    const auto n = static_cast<double>(standing.n);
    const double a = scale * loss_range;
    if (log_in_root) return {standing.mean(), a * std::sqrt(d * log / n)};
    const double c = has_comp ? comp : a * std::sqrt(d);
    return {standing.mean(), c * log * std::pow(n, p - 1.0)};
  }
};

}  // namespace chacha
