// The losses a model can be trained with, as Vowpal Wabbit defines them: value, update, gradient.
// Expressions keep VW's order and precision, so that the bits are the same.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "base/mathf.hpp"

namespace chacha {

enum class LossKind { kSquared, kLogistic, kQuantile, kPoisson, kHinge };

inline LossKind loss_named(const std::string& name) {
  if (name == "squared") return LossKind::kSquared;
  if (name == "logistic") return LossKind::kLogistic;
  if (name == "quantile") return LossKind::kQuantile;
  if (name == "poisson") return LossKind::kPoisson;
  if (name == "hinge") return LossKind::kHinge;
  throw std::invalid_argument("no loss of that name");
}

// VW starts the label range of these at [-50, 50], of the others at [0, 0].
inline float first_label_bound(LossKind kind) {
  return kind == LossKind::kLogistic || kind == LossKind::kPoisson ? 50.0F : 0.0F;
}

namespace detail {

constexpr float kMostPoisson = 44.0F;

inline float poisson_clamp(float p) {
  if (p > kMostPoisson) return kMostPoisson;
  return p < -kMostPoisson ? -kMostPoisson : p;
}

// Approximate W(e^x) - x, where W is Lambert's function.
inline float wexpmx(float x) {
  const double w = x >= 1. ? 0.86 * x + 0.01 : std::exp(0.8 * x - 0.65);
  const double r = x >= 1. ? x - std::log(w) - w : 0.2 * x + 0.65 - w;
  const double t = 1. + w;
  const double u = 2. * t * (t + 2. * r / 3.);
  return static_cast<float>(w * (1. + r / t * (u - r) / (u - 2. * r)) - x);
}

inline float squared_update(float p, float y, float scale, float per_update) {
  if (static_cast<double>(scale * per_update) < 1e-6) return 2.0F * (y - p) * scale;
  return (y - p) * (1.0F - exp32(-2.0F * scale * per_update)) / per_update;
}

inline float logistic_update(float p, float y, float scale, float per_update) {
  const float d = exp32(y * p);
  if (static_cast<double>(scale * per_update) < 1e-6) return y * scale / (1 + d);
  const float x = scale * per_update + y * p + d;
  const float w = wexpmx(x);
  return -(y * w + p) / per_update;
}

inline float quantile_update(float p, float y, float scale, float per_update, float tau) {
  const float error = y - p;
  if (error == 0) return 0;
  float normal = scale * per_update;
  if (error > 0) {
    normal = tau * normal;
    return normal < error ? tau * scale : error / per_update;
  }
  normal = -(1 - tau) * normal;
  return normal > error ? (tau - 1) * scale : error / per_update;
}

inline float poisson_update(float p, float y, float scale, float per_update) {
  const float clamped = poisson_clamp(p);
  const float rate = exp32(clamped);
  if (y > 0) {
    const float argument = y * scale * per_update;
    if (argument > kMostPoisson) return -(clamped - std::log(y)) / per_update;
    return y * scale - std::log1p(rate * std::expm1(argument) / y) / per_update;
  }
  const float inner = rate * scale * per_update;
  if (!std::isfinite(inner)) return -(clamped + std::log(scale * per_update)) / per_update;
  return -std::log1p(inner) / per_update;
}

inline float hinge_update(float p, float y, float scale, float per_update) {
  if (y * p >= 1) return 0;
  const float error = 1 - y * p;
  return y * (scale * per_update < error ? scale : error / per_update);
}

}  // namespace detail

// Whether the loss is above 0 in VW; without one nothing is learned. p lies in the label range.
inline bool has_loss(LossKind kind, float p, float y, float tau) {
  switch (kind) {
    case LossKind::kSquared:
      return (p - y) * (p - y) > 0;
    case LossKind::kLogistic:
      return std::log(1 + exp32(-y * p)) > 0;
    case LossKind::kQuantile: {
      const float error = y - p;
      return (error > 0 ? tau * error : -(1 - tau) * error) > 0;
    }
    case LossKind::kPoisson: {
      const float clamped = detail::poisson_clamp(p);
      return 2 * (y * (std::log(y + 1e-6F) - clamped) - (y - exp32(clamped))) > 0;
    }
    case LossKind::kHinge:
      return 1 - y * p > 0;
  }
  return false;
}

inline float first_derivative(LossKind kind, float p, float y, float tau) {
  switch (kind) {
    case LossKind::kSquared:
      return 2.0F * (p - y);
    case LossKind::kLogistic:
      return -y / (1 + exp32(y * p));
    case LossKind::kQuantile:
      return y - p == 0 ? 0 : (y - p > 0 ? -tau : (1 - tau));
    case LossKind::kPoisson:
      return exp32(detail::poisson_clamp(p)) - y;
    case LossKind::kHinge:
      return y * p >= 1 ? 0 : -y;
  }
  return 0;
}

inline float square_gradient(LossKind kind, float p, float y, float tau) {
  if (kind == LossKind::kSquared) return 4.0F * (p - y) * (p - y);
  const float d = first_derivative(kind, p, y, tau);
  return d * d;
}

inline float update_of(LossKind kind, float p, float y, float scale, float per_update, float tau) {
  switch (kind) {
    case LossKind::kSquared:
      return detail::squared_update(p, y, scale, per_update);
    case LossKind::kLogistic:
      return detail::logistic_update(p, y, scale, per_update);
    case LossKind::kQuantile:
      return detail::quantile_update(p, y, scale, per_update, tau);
    case LossKind::kPoisson:
      return detail::poisson_update(p, y, scale, per_update);
    case LossKind::kHinge:
      return detail::hinge_update(p, y, scale, per_update);
  }
  return 0;
}

}  // namespace chacha
