// Predicting and learning one expanded example, all models of a bank in three passes.
#include <algorithm>
#include <cmath>

#include "learner/bank.hpp"
#include "learner/weights.hpp"

namespace chacha {
namespace {

float within(float raw, float low, float high) {
  if (std::isnan(raw)) return 0.0F;
  if (raw > high) return high;
  return raw < low ? low : raw;
}

}  // namespace

Passes Bank::passes() const {
  return {table_.get(), width_, places_.data(), values_.data(), masks_.data(), seeds_.empty() ? nullptr : seeds_.data(),
          rates_.data(), all_square_root_};
}

template <class Visit>
void Bank::each_narrow(const Part& part, Visit visit) const {
  const auto lane = static_cast<std::size_t>(part.owner);
  auto* cells = const_cast<float*>(lanes_[lane].narrow.cells.data());
  const NarrowWeights weights(cells, table_.get(), width_, lane);
  for (std::uint32_t f = part.begin; f < part.end; ++f) {
    if (!is_absent(narrow_values_[f])) visit(weights[narrow_places_[f]], narrow_values_[f]);
  }
}

void Bank::dot(const Example& example) {
  std::fill(sums_.begin(), sums_.end(), example.initial);
  if (any_gravity_) {
    for (const std::uint32_t lane : live_) {
      gravity_[lane] = lanes_[lane].options.l1 > 0 ? static_cast<float>(lanes_[lane].gravity) : kNoGravity;
    }
  }
  const float* gravity = any_gravity_ ? gravity_.data() : nullptr;
  const Passes all = passes();
  for (const Part& part : parts_) {
    if (part.owner < 0) {
      kernel_->dot(all, wide(part), gravity, sums_.data());
      continue;
    }
    float sum = sums_[static_cast<std::size_t>(part.owner)];
    if (any_gravity_) {
      const float pull = gravity_[static_cast<std::size_t>(part.owner)];
      each_narrow(part, [&](const Weight& weight, float x) { sum += weight.pulled(pull) * x; });
    } else {
      each_narrow(part, [&](const Weight& weight, float x) { sum += weight.w() * x; });
    }
    sums_[static_cast<std::size_t>(part.owner)] = sum;
  }
  for (const std::uint32_t lane : live_) sums_[lane] *= static_cast<float>(lanes_[lane].contraction);
}

void Bank::rate(const std::int32_t* active) {
  const Passes all = passes();
  for (const Part& part : parts_) {
    if (part.owner < 0) {
      kernel_->rate(all, wide(part), gradient2_.data(), active, norm_x_.data(), per_update_.data());
      continue;
    }
    const auto lane = static_cast<std::size_t>(part.owner);
    if (active[lane] == 0) continue;
    float norm_x = norm_x_[lane];
    float per_update = per_update_[lane];
    const float gradient2 = gradient2_[lane];
    const float seed = seed_of(all, part.mask, lane);
    if (rates_[lane].square_root) {
      each_narrow(part, [&](const Weight& weight, float x) {
        weight.rate_root(x, gradient2, seed, norm_x, per_update);
      });
    } else {
      const LaneRates rates = rates_[lane];
      each_narrow(part, [&](const Weight& weight, float x) {
        weight.rate_power(x, gradient2, seed, rates, norm_x, per_update);
      });
    }
    norm_x_[lane] = norm_x;
    per_update_[lane] = per_update;
  }
}

void Bank::train(const std::int32_t* active) {
  const Passes all = passes();
  for (const Part& part : parts_) {
    if (part.owner < 0) {
      kernel_->train(all, wide(part), update_.data(), active);
      continue;
    }
    const auto lane = static_cast<std::size_t>(part.owner);
    if (active[lane] == 0) continue;
    const float update = update_[lane];
    each_narrow(part, [&](const Weight& weight, float x) { weight.train(x, update); });
  }
}

void Bank::predict(const Example& example, float* predictions) {
  dot(example);
  for (const std::uint32_t lane : live_) predictions[lane] = within(sums_[lane], low_[lane], high_[lane]);
}

void Bank::learn(const Example& example, float* predictions) noexcept {
  if (!plain_) {
    learn_any(example, predictions);
    return;
  }
  for (const std::uint32_t lane : live_) cells_[lane] = lanes_[lane].narrow.cells.data();
  kernel_->learn({passes(),
                  {narrow_places_.data(), narrow_values_.data(), cells_.data()},
                  {low_.data(), high_.data(), sum_norm_x_.data(), total_weight_.data(), multiplier_.data(),
                   learning_rate_.data()},
                  segments_.data(),
                  parts_.data(),
                  parts_.size(),
                  example.label,
                  example.weight,
                  example.initial,
                  predictions});
}

// The same for any options, model by model between the passes.
void Bank::learn_any(const Example& example, float* predictions) {
  predict(example, predictions);
  const float y = example.label;
  bool any_active = false;
  bool any_rated = false;
  for (const std::uint32_t lane : live_) {
    low_[lane] = std::min(low_[lane], y);
    high_[lane] = std::max(high_[lane], y);
    const Options& options = lanes_[lane].options;
    const float p = within(sums_[lane], low_[lane], high_[lane]);
    clipped_[lane] = p;
    const bool active = example.weight > 0 && has_loss(options.loss, p, y, options.tau);
    active_[lane] = active ? -1 : 0;
    gradient2_[lane] = active ? example.weight * square_gradient(options.loss, p, y, options.tau) : 0.0F;
    const bool rated = active && gradient2_[lane] != 0;
    rated_[lane] = rated ? -1 : 0;
    norm_x_[lane] = per_update_[lane] = 0.0F;
    any_active |= active;
    any_rated |= rated;
  }
  if (!any_active) return;
  if (any_rated) rate(rated_.data());
  update_lanes(example);
  train(active_.data());
  for (const std::uint32_t lane : live_) {
    if (lanes_[lane].contraction < 1e-9 || lanes_[lane].gravity > 1e3) synchronise(lane);
  }
}

// How far the weights of each lane move; lanes that do not move are no longer active.
void Bank::update_lanes(const Example& example) {
  const float y = example.label;
  for (const std::uint32_t lane : live_) {
    if (active_[lane] == 0) continue;
    Lane& state = lanes_[lane];
    if (rated_[lane] != 0) {
      sum_norm_x_[lane] += static_cast<double>(example.weight) * norm_x_[lane];
      total_weight_[lane] += example.weight;
      const auto total = static_cast<float>(total_weight_[lane]);
      const auto norms = static_cast<float>(sum_norm_x_[lane]);
      multiplier_[lane] = rates_[lane].square_root ? std::sqrt(total / norms)
                                                   : pow32(norms / total, rates_[lane].neg_norm_power);
      per_update_[lane] *= multiplier_[lane];
    } else {
      per_update_[lane] = 1.0F;
    }
    const Options& options = state.options;
    const float p = clipped_[lane];
    const float scale = options.learning_rate * example.weight;
    float update = update_of(options.loss, p, y, scale, per_update_[lane], options.tau);
    if ((options.l1 > 0 || options.l2 > 0) && static_cast<double>(std::fabs(update)) > 1e-8) {
      const double slope = first_derivative(options.loss, p, y, options.tau);
      const bool steep = std::fabs(slope) > 1e-8;
      const double eta = steep ? -update / slope : 0.0;
      if (steep) state.contraction *= 1. - options.l2 * eta;
      update /= static_cast<float>(state.contraction);
      state.gravity += eta * options.l1;
    }
    if (std::isnan(update) || update == 0) {
      active_[lane] = 0;
      continue;
    }
    update_[lane] = update * multiplier_[lane];
  }
}

// The implicit l1 and l2 of a model made explicit, before they leave the range of numbers.
void Bank::synchronise(std::uint32_t lane) {
  Lane& state = lanes_[lane];
  const auto gravity = static_cast<float>(state.gravity);
  const auto contraction = static_cast<float>(state.contraction);
  auto pull = [&](const Weight& weight) { weight.w() = weight.pulled(gravity) * contraction; };
  for (std::size_t place = 1; place < used_; ++place) pull({table_.get() + place * 4 * width_ + lane, width_});
  auto& cells = lanes_[lane].narrow.cells;
  for (std::size_t at = 0; at < cells.size(); at += 4) pull({cells.data() + at, 1});
  state.gravity = 0.0;
  state.contraction = 1.0;
}

}  // namespace chacha
