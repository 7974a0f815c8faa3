// Losses of served predictions: what is reported and what the rules compare.
// Twin: src/chacha/losses.py; expressions keep its order, so the bits are the same.
#pragma once

#include <algorithm>
#include <cmath>

#include "vw/training_losses.hpp"

namespace chacha {

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

  bool classifies() const { return kind == LossKind::kLogistic || kind == LossKind::kHinge; }
  bool refuses_some_labels() const { return classifies() || kind == LossKind::kPoisson; }

  double range(double low, double high) const {
    if (kind == LossKind::kLogistic) return -std::log(floor);
    return kind == LossKind::kHinge ? 2.0 : high - low;
  }

  // The bounded loss that the paper's tests compare.
  double proxy(double raw, double y, double low, double high) const {
    if (classifies()) {
      const double most = range(low, high);
      return std::isnan(raw) ? most : std::min(loss(raw, y), most);
    }
    const double p = served(raw);
    if (std::isnan(p)) return high - low;
    return std::fabs(std::min(std::max(low, p), high) - y);
  }

  // The negative gradient of the loss, up to a factor: what a prediction leaves to be learned.
  double residual(double raw, double y) const {
    if (kind == LossKind::kLogistic) return y * served(-y * raw);
    if (kind == LossKind::kHinge) return y * raw < 1.0 ? y : 0.0;
    return y - served(raw);
  }

  // The two metrics that are reported beside the loss.
  double first_metric(double raw, double y) const {
    return classifies() ? loss(raw, y) : std::fabs(served(raw) - y);
  }
  double second_metric(double raw, double y) const {
    if (classifies()) return (raw > 0) == (y > 0) ? 1.0 : 0.0;
    const double error = served(raw) - y;
    return error * error;
  }
};

}  // namespace chacha
