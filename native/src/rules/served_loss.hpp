// The loss of served predictions: what is reported and what the rules compare. See vw/losses.hpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vw/losses.hpp"

namespace chacha {

struct ServedLoss {
  LossKind kind = LossKind::kSquared;
  ServedParameters with = {};

  static ServedLoss named(const std::string& name,
                          const std::vector<std::pair<std::string, double>>& parameters) {
    ServedLoss loss{loss_named(name)};
    for (const auto& [key, value] : parameters) loss.with.set(key, value);
    return loss;
  }

  bool take_label(float& y) const {
    return visit(kind, [&](auto loss) { return loss.take_label(y); });
  }
  bool refuses_some_labels() const {
    return visit(kind, [](auto loss) { return loss.kRefusesLabels; });
  }
  bool absolute_proxy() const {
    return visit(kind, [](auto loss) { return loss.kAbsoluteProxy; });
  }
  double served(double raw) const {
    return visit(kind, [&](auto loss) { return loss.served(raw); });
  }
  double loss(double raw, double y) const {
    return visit(kind, [&](auto loss) { return loss.loss(raw, y, with); });
  }
  double range(double low, double high) const {
    return visit(kind, [&](auto loss) { return loss.range(low, high, with); });
  }
  double proxy(double raw, double y, double low, double high) const {
    return visit(kind, [&](auto loss) { return loss.proxy(raw, y, low, high, with); });
  }
  double residual(double raw, double y) const {
    return visit(kind, [&](auto loss) { return loss.residual(raw, y); });
  }
  bool has_constant() const {
    return visit(kind, [](auto loss) { return loss.kHasConstant; });
  }
  double constant(double mean, double positive, double negative) const {
    return visit(kind, [&](auto loss) { return loss.constant(mean, positive, negative); });
  }
  Metrics metrics(double raw, double y, double loss_of_raw) const {
    return visit(kind, [&](auto loss) { return loss.metrics(raw, y, loss_of_raw); });
  }
};

}  // namespace chacha
