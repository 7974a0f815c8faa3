#include "learner/trainer.hpp"

#include <algorithm>
#include <cmath>

#include "data/absent.hpp"
#include "learner/weight.hpp"

namespace chacha {

Trainer::Trainer(const Kernel* kernel, Lanes& lanes, const LiveProducts& products, Places& places)
    : kernel_(kernel), lanes_(lanes), products_(products), places_(places) {}

void Trainer::reserve(std::size_t width) {
  for (auto* array :
       {&labels_, &sums_, &gravity_, &clipped_, &gradient2_, &norm_x_, &per_update_, &update_}) {
    array->resize(width);
  }
  for (auto* array : {&active_, &rated_}) array->resize(width);
  cells_.resize(width);
}

Passes Trainer::passes(const Expansion& features) const {
  return {places_.table(),   places_.width(),   features.places.data(), features.values.data(),
          products_.masks(), products_.seeds(), lanes_.rates(),         lanes_.all_square_root()};
}

template <class Visit>
void Trainer::each_narrow(const Part& part, const Expansion& features, Visit visit) {
  const auto lane = static_cast<std::size_t>(part.owner);
  const LaneWeights weights(places_.cells(lane), places_.table(), places_.width(), lane);
  const std::uint32_t* const places = features.narrow_places.data();
  const float* const values = features.narrow_values.data();
  for (std::uint32_t f = part.begin; f < part.end; ++f) {
    if (!is_absent(values[f])) visit(weights[places[f]], values[f]);
  }
}

void Trainer::predict(const Example& example, const Expansion& features,
                      float* predictions) noexcept {
  dot(example, features);
  for (const std::uint32_t lane : lanes_.live()) {
    predictions[lane] = lanes_.clip(lane, sums_[lane]);
  }
}

void Trainer::learn(const Example& example, const Expansion& features, const float* labels,
                    float* predictions) noexcept {
  if (!lanes_.plain()) {
    learn_any(example, features, labels, predictions);
    return;
  }
  for (const std::uint32_t lane : lanes_.live()) cells_[lane] = places_.cells(lane);
  kernel_->learn({passes(features),
                  {features.narrow_places.data(), features.narrow_values.data(), cells_.data()},
                  lanes_.arrays(),
                  features.segments.data(),
                  features.parts.data(),
                  features.parts.size(),
                  labels,
                  example.weight,
                  example.initial,
                  predictions});
}

void Trainer::learn_any(const Example& example, const Expansion& features, const float* labels,
                        float* predictions) noexcept {
  predict(example, features, predictions);
  compute_gradients(example.weight, labels);
  if (!any_active_) return;
  if (any_rated_) rate(features);
  compute_updates(example.weight, labels);
  train(features);
  for (const std::uint32_t lane : lanes_.live()) {
    if (!lanes_.needs_pull(lane)) continue;
    places_.pull(lane, lanes_.gravity(lane), lanes_.contraction(lane));
    lanes_.reset_pull(lane);
  }
}

void Trainer::dot(const Example& example, const Expansion& features) {
  std::fill(sums_.begin(), sums_.end(), example.initial);
  const bool pulled = lanes_.any_l1();
  if (pulled) {
    for (const std::uint32_t lane : lanes_.live()) {
      gravity_[lane] = lanes_.options(lane).l1 > 0 ? lanes_.gravity(lane) : kNoGravity;
    }
  }
  const float* gravity = pulled ? gravity_.data() : nullptr;
  const Passes all = passes(features);
  for (const Part& part : features.parts) {
    if (part.owner < 0) {
      kernel_->dot(all, features.wide(part), gravity, sums_.data());
      continue;
    }
    const auto lane = static_cast<std::size_t>(part.owner);
    float sum = sums_[lane];
    if (pulled) {
      const float pull = gravity_[lane];
      each_narrow(part, features,
                  [&](const Weight& weight, float x) { sum += weight.pulled(pull) * x; });
    } else {
      each_narrow(part, features, [&](const Weight& weight, float x) { sum += weight.w() * x; });
    }
    sums_[lane] = sum;
  }
  for (const std::uint32_t lane : lanes_.live()) sums_[lane] *= lanes_.contraction(lane);
}

// The squared gradient of each model, where its label has widened its range.
void Trainer::compute_gradients(float weight, const float* labels) {
  any_active_ = any_rated_ = false;
  for (const std::uint32_t lane : lanes_.live()) {
    const float y = labels[lane];
    lanes_.widen_range(lane, y);
    const Options& options = lanes_.options(lane);
    const float p = lanes_.clip(lane, sums_[lane]);
    clipped_[lane] = p;
    const bool active = weight > 0 && options.loss.has_loss(p, y);
    active_[lane] = active ? -1 : 0;
    gradient2_[lane] = active ? weight * options.loss.square_gradient(p, y) : 0.0F;
    const bool rated = active && gradient2_[lane] != 0;
    rated_[lane] = rated ? -1 : 0;
    norm_x_[lane] = per_update_[lane] = 0.0F;
    any_active_ |= active;
    any_rated_ |= rated;
  }
}

void Trainer::rate(const Expansion& features) {
  const Passes all = passes(features);
  for (const Part& part : features.parts) {
    if (part.owner < 0) {
      kernel_->rate(all, features.wide(part), gradient2_.data(), rated_.data(), norm_x_.data(),
                    per_update_.data());
      continue;
    }
    const auto lane = static_cast<std::size_t>(part.owner);
    if (rated_[lane] == 0) continue;
    float norm_x = norm_x_[lane];
    float per_update = per_update_[lane];
    const float gradient2 = gradient2_[lane];
    const float seed = seed_of(all, part.mask, lane);
    const LaneRates rates = all.rates[lane];
    if (rates.square_root) {
      each_narrow(part, features, [&](const Weight& weight, float x) {
        weight.rate_root(x, gradient2, seed, norm_x, per_update);
      });
    } else {
      each_narrow(part, features, [&](const Weight& weight, float x) {
        weight.rate_power(x, gradient2, seed, rates, norm_x, per_update);
      });
    }
    norm_x_[lane] = norm_x;
    per_update_[lane] = per_update;
  }
}

// How far the weights of each model move; models that do not move are no longer active.
void Trainer::compute_updates(float weight, const float* labels) {
  for (const std::uint32_t lane : lanes_.live()) {
    if (active_[lane] == 0) continue;
    if (rated_[lane] != 0) {
      lanes_.add_norm(lane, weight, norm_x_[lane]);
      per_update_[lane] *= lanes_.multiplier(lane);
    } else {
      per_update_[lane] = 1.0F;
    }
    const Options& options = lanes_.options(lane);
    const float p = clipped_[lane];
    const float y = labels[lane];
    const float scale = options.learning_rate * weight;
    float update = options.loss.update(p, y, scale, per_update_[lane]);
    if ((options.l1 > 0 || options.l2 > 0) && static_cast<double>(std::fabs(update)) > 1e-8) {
      const double slope = options.loss.first_derivative(p, y);
      update = lanes_.regularised(lane, update, slope);
    }
    if (std::isnan(update) || update == 0) {
      active_[lane] = 0;
      continue;
    }
    update_[lane] = update * lanes_.multiplier(lane);
  }
}

void Trainer::train(const Expansion& features) {
  const Passes all = passes(features);
  for (const Part& part : features.parts) {
    if (part.owner < 0) {
      kernel_->train(all, features.wide(part), update_.data(), active_.data());
      continue;
    }
    const auto lane = static_cast<std::size_t>(part.owner);
    if (active_[lane] == 0) continue;
    const float update = update_[lane];
    each_narrow(part, features, [&](const Weight& weight, float x) { weight.train(x, update); });
  }
}

}  // namespace chacha
