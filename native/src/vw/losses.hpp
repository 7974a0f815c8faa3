// The losses, a struct each: how VW trains with it, and how predictions are served and compared.
// Twin: src/chacha/losses.py
//
// Expressions keep the order and precision of VW (training) and of the twin (serving), so that the
// bits are the same. A new loss is a struct here, its LossKind and its line in visit().
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "base/mathf.hpp"

namespace chacha {

enum class LossKind { kSquared, kLogistic, kQuantile, kPoisson, kHinge };
constexpr LossKind kLastLoss = LossKind::kHinge;

// The parameters of all losses; a loss reads those that it has.
struct TrainingParameters {
  float tau = 0.5F;

  // Sets an option of VW; returns false if no loss has such an option.
  bool set(const std::string& option, float value) {
    if (option != "quantile_tau") return false;
    tau = value;
    return true;
  }
};

struct ServedParameters {
  double tau = 0.5;
  double floor = 1e-4;

  void set(const std::string& name, double value) {
    if (name == "tau")
      tau = value;
    else if (name == "floor")
      floor = value;
    else
      throw std::invalid_argument("no loss has a parameter " + name);
  }
};

struct Metrics {
  double first, second;
};

// What most losses have in common. Parameters that a loss does not have are unnamed.
//
// Training, in float32; the prediction p lies in the range of the labels:
// - has_loss: whether the loss is above 0 in VW; without a loss nothing is learned.
// - first_derivative, square_gradient: of the loss by p.
// - update: how far the prediction moves.
// Serving, in double:
// - take_label: puts a label into the learner's form; false if the loss has no such label.
// - served: the user's prediction. loss: what is reported.
// - range, proxy: the bounded loss that the paper's tests compare, and its largest value.
// - residual: the negative gradient of the loss, up to a factor: what is left to be learned.
// - constant: the best constant prediction for labels with this mean, or with these weights of the
//   labels 1 and -1. kHasConstant: whether it follows from them.
// - metrics: what is reported beside the loss, given the loss.
template <class Loss>
struct AnyLoss {
  static constexpr float kFirstLabelBound = 0.0F;  // VW starts the label range at ± this number
  static constexpr bool kRefusesLabels = false;
  static constexpr bool kAbsoluteProxy = false;  // whether the proxy is |clipped raw - y|
  static constexpr bool kHasConstant = true;

  static float square_gradient(float p, float y, const TrainingParameters& with) {
    const float d = Loss::first_derivative(p, y, with);
    return d * d;
  }

  static double served(double raw) { return raw; }
};

template <class Loss>
struct RegressionLoss : AnyLoss<Loss> {
  static bool take_label(float&) { return true; }

  static double range(double low, double high, const ServedParameters&) { return high - low; }

  static double proxy(double raw, double y, double low, double high, const ServedParameters&) {
    const double p = Loss::served(raw);
    if (std::isnan(p)) return high - low;
    return std::fabs(std::min(std::max(low, p), high) - y);
  }

  static double residual(double raw, double y) { return y - Loss::served(raw); }

  static double constant(double mean, double, double) { return mean; }

  static Metrics metrics(double raw, double y, double) {
    const double error = Loss::served(raw) - y;
    return {std::fabs(error), error * error};
  }
};

// Labels are -1 and 1; 0 is read as -1.
template <class Loss>
struct BinaryLoss : AnyLoss<Loss> {
  static constexpr bool kRefusesLabels = true;

  static bool take_label(float& y) {
    if (y != -1.0F && y != 0.0F && y != 1.0F) return false;
    y = y > 0 ? 1.0F : -1.0F;
    return true;
  }

  static double proxy(double raw, double y, double low, double high, const ServedParameters& with) {
    const double most = Loss::range(low, high, with);
    return std::isnan(raw) ? most : std::min(Loss::loss(raw, y, with), most);
  }

  static Metrics metrics(double raw, double y, double loss) {
    return {loss, (raw > 0) == (y > 0) ? 1.0 : 0.0};
  }
};

struct Squared : RegressionLoss<Squared> {
  static constexpr const char* kName = "squared";
  static constexpr bool kAbsoluteProxy = true;

  static bool has_loss(float p, float y, const TrainingParameters&) {
    return (p - y) * (p - y) > 0;
  }

  static float first_derivative(float p, float y, const TrainingParameters&) {
    return 2.0F * (p - y);
  }

  static float square_gradient(float p, float y, const TrainingParameters&) {
    return 4.0F * (p - y) * (p - y);
  }

  static float update(float p, float y, float scale, float per_update, const TrainingParameters&) {
    if (static_cast<double>(scale * per_update) < 1e-6) return 2.0F * (y - p) * scale;
    return (y - p) * (1.0F - exp32(-2.0F * scale * per_update)) / per_update;
  }

  static double loss(double raw, double y, const ServedParameters&) {
    return (raw - y) * (raw - y);
  }
};

struct Logistic : BinaryLoss<Logistic> {
  static constexpr const char* kName = "logistic";
  static constexpr float kFirstLabelBound = 50.0F;

  static bool has_loss(float p, float y, const TrainingParameters&) {
    return std::log(1 + exp32(-y * p)) > 0;
  }

  static float first_derivative(float p, float y, const TrainingParameters&) {
    return -y / (1 + exp32(y * p));
  }

  static float update(float p, float y, float scale, float per_update, const TrainingParameters&) {
    const float d = exp32(y * p);
    if (static_cast<double>(scale * per_update) < 1e-6) return y * scale / (1 + d);
    const float x = scale * per_update + y * p + d;
    const float w = wexpmx(x);
    return -(y * w + p) / per_update;
  }

  static double served(double raw) {
    if (raw >= 0) return 1.0 / (1.0 + std::exp(-std::min(raw, 700.0)));
    const double e = std::exp(std::max(raw, -700.0));
    return e / (1.0 + e);
  }

  static double loss(double raw, double y, const ServedParameters&) {
    const double z = -y * raw;
    return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
  }

  static double range(double, double, const ServedParameters& with) {
    return -std::log(with.floor);
  }

  static double residual(double raw, double y) { return y * served(-y * raw); }

  static double constant(double, double positive, double negative) {
    return std::log(positive / negative);
  }

 private:
  // Approximate W(e^x) - x, where W is Lambert's function.
  static float wexpmx(float x) {
    const double w = x >= 1. ? 0.86 * x + 0.01 : std::exp(0.8 * x - 0.65);
    const double r = x >= 1. ? x - std::log(w) - w : 0.2 * x + 0.65 - w;
    const double t = 1. + w;
    const double u = 2. * t * (t + 2. * r / 3.);
    return static_cast<float>(w * (1. + r / t * (u - r) / (u - 2. * r)) - x);
  }
};

struct Quantile : RegressionLoss<Quantile> {
  static constexpr const char* kName = "quantile";
  static constexpr bool kAbsoluteProxy = true;
  static constexpr bool kHasConstant = false;  // it is a quantile of the labels

  static bool has_loss(float p, float y, const TrainingParameters& with) {
    const float error = y - p;
    return (error > 0 ? with.tau * error : -(1 - with.tau) * error) > 0;
  }

  static float first_derivative(float p, float y, const TrainingParameters& with) {
    return y - p == 0 ? 0 : (y - p > 0 ? -with.tau : (1 - with.tau));
  }

  static float update(float p, float y, float scale, float per_update,
                      const TrainingParameters& with) {
    const float error = y - p;
    if (error == 0) return 0;
    float normal = scale * per_update;
    if (error > 0) {
      normal = with.tau * normal;
      return normal < error ? with.tau * scale : error / per_update;
    }
    normal = -(1 - with.tau) * normal;
    return normal > error ? (with.tau - 1) * scale : error / per_update;
  }

  static double loss(double raw, double y, const ServedParameters& with) {
    return y >= raw ? with.tau * (y - raw) : (1 - with.tau) * (raw - y);
  }
};

// The learner predicts the logarithm of the rate.
struct Poisson : RegressionLoss<Poisson> {
  static constexpr const char* kName = "poisson";
  static constexpr float kFirstLabelBound = 50.0F;
  static constexpr bool kRefusesLabels = true;

  static bool has_loss(float p, float y, const TrainingParameters&) {
    const float clamped = clamp(p);
    return 2 * (y * (std::log(y + 1e-6F) - clamped) - (y - exp32(clamped))) > 0;
  }

  static float first_derivative(float p, float y, const TrainingParameters&) {
    return exp32(clamp(p)) - y;
  }

  static float update(float p, float y, float scale, float per_update, const TrainingParameters&) {
    const float clamped = clamp(p);
    const float rate = exp32(clamped);
    if (y > 0) {
      const float argument = y * scale * per_update;
      if (argument > kMost) return -(clamped - std::log(y)) / per_update;
      return y * scale - std::log1p(rate * std::expm1(argument) / y) / per_update;
    }
    const float inner = rate * scale * per_update;
    if (!std::isfinite(inner)) return -(clamped + std::log(scale * per_update)) / per_update;
    return -std::log1p(inner) / per_update;
  }

  static bool take_label(float& y) { return y >= 0; }

  static double served(double raw) { return std::exp(std::min(raw, 700.0)); }

  static double loss(double raw, double y, const ServedParameters&) {
    return 2.0 * ((y > 0 ? y * (std::log(y) - raw) : 0.0) - y + served(raw));
  }

  static double constant(double mean, double, double) {
    return std::log(std::max(mean, kLeastRate));
  }

 private:
  static constexpr float kMost = 44.0F;
  static constexpr double kLeastRate = 1e-4;

  static float clamp(float p) {
    if (p > kMost) return kMost;
    return p < -kMost ? -kMost : p;
  }
};

struct Hinge : BinaryLoss<Hinge> {
  static constexpr const char* kName = "hinge";

  static bool has_loss(float p, float y, const TrainingParameters&) { return 1 - y * p > 0; }

  static float first_derivative(float p, float y, const TrainingParameters&) {
    return y * p >= 1 ? 0 : -y;
  }

  static float update(float p, float y, float scale, float per_update, const TrainingParameters&) {
    if (y * p >= 1) return 0;
    const float error = 1 - y * p;
    return y * (scale * per_update < error ? scale : error / per_update);
  }

  static double loss(double raw, double y, const ServedParameters&) {
    return std::max(0.0, 1.0 - y * raw);
  }

  static double range(double, double, const ServedParameters&) { return 2.0; }

  static double residual(double raw, double y) { return y * raw < 1.0 ? y : 0.0; }

  static double constant(double, double positive, double negative) {
    return (positive > negative ? 1.0 : 0.0) - (positive < negative ? 1.0 : 0.0);
  }
};

// Calls f with the struct of a kind. A switch, so that the compiler can inline what f asks.
template <class F>
inline auto visit(LossKind kind, F f) {
  switch (kind) {
    case LossKind::kSquared:
      return f(Squared());
    case LossKind::kLogistic:
      return f(Logistic());
    case LossKind::kQuantile:
      return f(Quantile());
    case LossKind::kPoisson:
      return f(Poisson());
    case LossKind::kHinge:
      return f(Hinge());
  }
  return f(Squared());  // no other kind exists
}

inline LossKind loss_named(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(kLastLoss); ++i) {
    const auto kind = static_cast<LossKind>(i);
    if (visit(kind, [](auto loss) { return loss.kName; }) == name) return kind;
  }
  throw std::invalid_argument("no loss of that name");
}

// The loss that a model is trained with.
struct TrainingLoss {
  LossKind kind = LossKind::kSquared;
  TrainingParameters with = {};

  float first_label_bound() const {
    return visit(kind, [](auto loss) { return loss.kFirstLabelBound; });
  }
  bool has_loss(float p, float y) const {
    return visit(kind, [&](auto loss) { return loss.has_loss(p, y, with); });
  }
  float first_derivative(float p, float y) const {
    return visit(kind, [&](auto loss) { return loss.first_derivative(p, y, with); });
  }
  float square_gradient(float p, float y) const {
    return visit(kind, [&](auto loss) { return loss.square_gradient(p, y, with); });
  }
  float update(float p, float y, float scale, float per_update) const {
    return visit(kind, [&](auto loss) { return loss.update(p, y, scale, per_update, with); });
  }
};

}  // namespace chacha
