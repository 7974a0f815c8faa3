#include "learner/lanes.hpp"

#include <utility>

#include "base/bytes.hpp"

namespace chacha {

void Lanes::reserve(std::size_t width) {
  if (lanes_.size() >= width) return;
  for (auto* array : {&low_, &high_, &multiplier_, &learning_rate_}) array->resize(width);
  for (auto* array : {&sum_norm_x_, &total_weight_}) array->resize(width);
  rates_.resize(width);
  live_.reserve(width);
  lanes_.resize(width);
}

std::uint32_t Lanes::free_lane(std::size_t width) const {
  std::uint32_t lane = 0;
  while (lane < width && lanes_[lane].live) ++lane;
  return lane;
}

void Lanes::start(std::uint32_t lane, Model&& model, const ModelState& state,
                  float multiplier) noexcept {
  const Options& options = model.options;
  rates_[lane] = {-options.power_t, options.power_t - 1.0F, options.power_t == 0.5F};
  learning_rate_[lane] = options.learning_rate;
  multiplier_[lane] = multiplier;
  lanes_[lane].model = std::move(model);
  lanes_[lane].live = true;
  live_.insert(std::lower_bound(live_.begin(), live_.end(), lane), lane);
  set_state(lane, state);
}

void Lanes::stop(std::uint32_t lane) noexcept {
  lanes_[lane] = Lane();
  live_.erase(std::lower_bound(live_.begin(), live_.end(), lane));
  compare_options();
}

void Lanes::restart(std::uint32_t lane, const ModelState& state) noexcept {
  undamp(lane);
  multiplier_[lane] = 0.0F;
  set_state(lane, state);
}

bool Lanes::any_damped() const {
  return std::any_of(live_.begin(), live_.end(),
                     [this](std::uint32_t lane) { return damped(lane); });
}

std::size_t Lanes::bytes() const {
  std::size_t total = bytes_of(lanes_, live_, rates_, low_, high_, multiplier_, learning_rate_,
                               sum_norm_x_, total_weight_);
  for (const Lane& lane : lanes_) total += bytes_of(lane.model.products, lane.model.seeds);
  return total;
}

ModelState Lanes::state(std::uint32_t lane) const {
  return {sum_norm_x_[lane], total_weight_[lane],  low_[lane],
          high_[lane],       lanes_[lane].gravity, lanes_[lane].contraction};
}

void Lanes::set_state(std::uint32_t lane, const ModelState& state) noexcept {
  sum_norm_x_[lane] = state.sum_norm_x;
  total_weight_[lane] = state.total_weight;
  low_[lane] = state.low;
  high_[lane] = state.high;
  lanes_[lane].gravity = state.gravity;
  lanes_[lane].contraction = state.contraction;
  compare_options();
}

void Lanes::compare_options() noexcept {
  all_square_root_ = plain_ = true;
  any_l1_ = false;
  for (const std::uint32_t lane : live_) {
    const Options& options = this->options(lane);
    const bool root = rates_[lane].square_root;
    const bool regular = options.l1 > 0 || options.l2 > 0 || lanes_[lane].gravity != 0 ||
                         lanes_[lane].contraction != 1;
    all_square_root_ = all_square_root_ && root;
    any_l1_ = any_l1_ || options.l1 > 0;
    plain_ = plain_ && root && !regular && options.loss.kind == LossKind::kSquared;
  }
}

float Lanes::regularised(std::uint32_t lane, float update, double slope) noexcept {
  Lane& state = lanes_[lane];
  const Options& options = state.model.options;
  const bool steep = std::fabs(slope) > 1e-8;
  const double eta = steep ? -update / slope : 0.0;
  if (steep) state.contraction *= 1. - options.l2 * eta;
  update /= static_cast<float>(state.contraction);
  state.gravity += eta * options.l1;
  return update;
}

}  // namespace chacha
