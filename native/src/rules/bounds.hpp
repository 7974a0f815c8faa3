// The statistics of the algorithm, as the Python reference has them: losses, bounds, the tests.
// Expressions keep the order of chacha/losses.py and chacha/rules/paper/bounds.py, so the bits are the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "vw/training_losses.hpp"

namespace chacha {

struct Standing {
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

// What is served, reported and compared.
struct ServedLoss {
  LossKind kind = LossKind::kSquared;
  double tau = 0.5;
  double floor = 1e-4;

  double served(double raw) const {
    if (kind == LossKind::kPoisson) return std::exp(std::min(raw, 700.0));
    if (kind != LossKind::kLogistic) return raw;
    if (raw >= 0) return 1.0 / (1.0 + std::exp(-std::min(raw, 700.0)));
    const double e = std::exp(std::max(raw, -700.0));
    return e / (1.0 + e);
  }

  double loss(double raw, double y) const {
    switch (kind) {
      case LossKind::kSquared:
        return (raw - y) * (raw - y);
      case LossKind::kQuantile:
        return y >= raw ? tau * (y - raw) : (1 - tau) * (raw - y);
      case LossKind::kPoisson:
        return 2.0 * ((y > 0 ? y * (std::log(y) - raw) : 0.0) - y + served(raw));
      case LossKind::kLogistic: {
        const double z = -y * raw;
        return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
      }
      case LossKind::kHinge:
        return std::max(0.0, 1.0 - y * raw);
    }
    return 0.0;
  }

  // Whether some labels are refused.
  bool picky() const { return classifies() || kind == LossKind::kPoisson; }
  bool classifies() const { return kind == LossKind::kLogistic || kind == LossKind::kHinge; }

  double range(double low, double high) const {
    if (kind == LossKind::kLogistic) return -std::log(floor);
    return kind == LossKind::kHinge ? 2.0 : high - low;
  }

  double proxy(double raw, double y, double low, double high) const {
    if (classifies()) return std::isnan(raw) ? range(low, high) : std::min(loss(raw, y), range(low, high));
    const double p = served(raw);
    if (std::isnan(p)) return high - low;
    return std::fabs(std::min(std::max(low, p), high) - y);
  }

  // What a prediction left over: the downhill direction of the loss.
  double residual(double raw, double y) const {
    if (kind == LossKind::kLogistic) return y * served(-y * raw);
    if (kind == LossKind::kHinge) return y * raw < 1.0 ? y : 0.0;
    return y - served(raw);
  }

  // The two metrics that are reported beside the loss.
  double first_metric(double raw, double y) const { return classifies() ? loss(raw, y) : std::fabs(served(raw) - y); }
  double second_metric(double raw, double y) const {
    if (classifies()) return (raw > 0) == (y > 0) ? 1.0 : 0.0;
    const double error = served(raw) - y;
    return error * error;
  }
};

struct Bound {
  double mean = 0.0;
  double epsilon = std::numeric_limits<double>::infinity();
  double upper() const { return mean + epsilon; }
  double lower() const { return mean - epsilon; }
};

inline bool better_than(const Bound& c, const Bound& champion) {
  return c.upper() < champion.lower() - champion.epsilon;
}
inline bool worse_than(const Bound& c, const Bound& champion) { return c.lower() > champion.upper(); }

struct SampleComplexity {
  double scale = 0.05;
  double delta = 0.1;
  bool log_in_root = true;
  double p = 0.5;
  bool has_comp = false;
  double comp = 0.0;
  bool natural = true;      // the logarithm's base is e
  double log_of_base = 1.0;
  bool count_challengers = true;
  std::int64_t burn_in = 0;

  // log(n·|S|/δ); models that started together share it.
  double logarithm(std::int64_t n, std::int64_t challengers) const {
    const std::int64_t s = count_challengers ? std::max<std::int64_t>(challengers, 1) : 1;
    const double log = std::log(static_cast<double>(n * s) / delta);
    return natural ? log : log / log_of_base;
  }

  Bound bound(const Standing& standing, double d, double log, double loss_range) const {
    if (standing.n == 0) return {};
    const auto n = static_cast<double>(standing.n);
    const double a = scale * loss_range;
    if (log_in_root) return {standing.mean(), a * std::sqrt(d * log / n)};
    const double c = has_comp ? comp : a * std::sqrt(d);
    return {standing.mean(), c * log * std::pow(n, p - 1.0)};
  }
};

}  // namespace chacha
