// The models of a bank by lane: their options, products and state.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mathf.hpp"
#include "learner/kernel.hpp"
#include "learner/model.hpp"
#include "learner/weight.hpp"

namespace chacha {

class Lanes {
 public:
  // What a model has from its start.
  struct Model {
    Options options;
    std::vector<GroupList> products;
    std::vector<float> seeds;  // of the products, of a damped copy; empty: nothing is damped
  };

  // Make room for lanes. May throw, and changes no model.
  void reserve(std::size_t width);
  // Return the first lane below `width` without a model, or `width`.
  std::uint32_t free_lane(std::size_t width) const;
  void start(std::uint32_t lane, Model&& model, const ModelState& state, float multiplier) noexcept;
  void stop(std::uint32_t lane) noexcept;
  void restart(std::uint32_t lane, const ModelState& state) noexcept;
  void undamp(std::uint32_t lane) noexcept { lanes_[lane].model.seeds.clear(); }

  const std::vector<std::uint32_t>& live() const { return live_; }  // ascending
  const Model& model(std::uint32_t lane) const { return lanes_[lane].model; }
  const Options& options(std::uint32_t lane) const { return lanes_[lane].model.options; }
  bool damped(std::uint32_t lane) const { return !lanes_[lane].model.seeds.empty(); }
  bool any_damped() const;

  ModelState state(std::uint32_t lane) const;
  void set_state(std::uint32_t lane, const ModelState& state) noexcept;
  float multiplier(std::uint32_t lane) const { return multiplier_[lane]; }

  std::size_t bytes() const;

  // What all live models have in common.
  bool all_square_root() const { return all_square_root_; }
  bool any_l1() const { return any_l1_; }
  // All have VW's defaults, but for their learning rates.
  bool plain() const { return plain_; }

  // For the kernels. `learn` of a kernel changes the state of plain lanes through the arrays.
  const LaneRates* rates() const { return rates_.data(); }
  LaneArrays arrays() noexcept {
    return {low_.data(),          high_.data(),       sum_norm_x_.data(),
            total_weight_.data(), multiplier_.data(), learning_rate_.data()};
  }

  // The state of one model, step by step as it learns an example.
  // Clip a prediction to the label range, as VW does.
  float clip(std::uint32_t lane, float raw) const {
    if (std::isnan(raw)) return 0.0F;
    if (raw > high_[lane]) return high_[lane];
    return raw < low_[lane] ? low_[lane] : raw;
  }
  void widen_range(std::uint32_t lane, float label) noexcept {
    low_[lane] = std::min(low_[lane], label);
    high_[lane] = std::max(high_[lane], label);
  }
  // How far l1 pulls weights towards 0, and how far l2 has shrunk them.
  float gravity(std::uint32_t lane) const { return static_cast<float>(lanes_[lane].gravity); }
  float contraction(std::uint32_t lane) const {
    return static_cast<float>(lanes_[lane].contraction);
  }
  // Count the norm of an example; the multiplier follows from it.
  void add_norm(std::uint32_t lane, float weight, float norm_x) noexcept {
    sum_norm_x_[lane] += static_cast<double>(weight) * norm_x;
    total_weight_[lane] += weight;
    const auto total = static_cast<float>(total_weight_[lane]);
    const auto norms = static_cast<float>(sum_norm_x_[lane]);
    multiplier_[lane] = rates_[lane].square_root
                            ? std::sqrt(total / norms)
                            : pow32(norms / total, rates_[lane].neg_norm_power);
  }
  // Return the update of a model with l1 or l2, which shrinks its weights as well.
  float regularised(std::uint32_t lane, float update, double slope) noexcept;
  // Whether l1 or l2 must be applied to the weights before they leave the range of numbers.
  bool needs_pull(std::uint32_t lane) const {
    return lanes_[lane].contraction < 1e-9 || lanes_[lane].gravity > 1e3;
  }
  void reset_pull(std::uint32_t lane) noexcept {
    lanes_[lane].gravity = 0.0;
    lanes_[lane].contraction = 1.0;
  }

 private:
  struct Lane {
    Model model;
    double gravity = 0.0;
    double contraction = 1.0;
    bool live = false;
  };

  void compare_options() noexcept;

  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> live_;
  std::vector<LaneRates> rates_;
  std::vector<float> low_, high_, multiplier_, learning_rate_;
  std::vector<double> sum_norm_x_, total_weight_;
  bool all_square_root_ = true;
  bool any_l1_ = false;
  bool plain_ = true;
};

}  // namespace chacha
