#include "rules/contest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chacha {
namespace {

constexpr double kMemory = 2000.0;
constexpr double kShares[] = {0.25, 0.5, 0.75, 1.0};

double infinite_if_nan(double loss) {
  return std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss;
}

}  // namespace

void Contest::set_state(ContestState state) {
  losses_.resize(state.challengers.size());
  state_ = std::move(state);
  complete_ = true;
}

void Contest::begin_again() noexcept {
  state_.charged = 0;
  state_.level = 0.0;
  state_.surprise.begin_again();
  state_.serving = Serving();
  for (Challenger& challenger : state_.challengers) {
    Pairing pairing;
    pairing.number = challenger.pairing.number;
    pairing.needed = challenger.pairing.needed;
    pairing.reserve = pairing.wealth = pairing.against = 0.5;
    challenger.pairing = pairing;
    challenger.blend_gain = BlendGain();
  }
}

void Contest::forget(std::uint32_t model) {
  complete_ = complete_ && model != state_.champion;
  for (const Challenger& challenger : state_.challengers) {
    complete_ = complete_ && challenger.model != model;
  }
}

bool Contest::block_ends() const {
  return std::any_of(state_.challengers.begin(), state_.challengers.end(),
                     [this](const auto& c) { return c.pairing.block_n + 1 >= rules_.block; });
}

void Contest::charge(double champion_loss, double served_loss, double step_loss, double weight,
                     std::int64_t t) noexcept {
  const double none = weight * champion_loss;
  const double served = weight * served_loss;
  const double decay = blending_.decay;
  Serving& serving = state_.serving;
  if (std::isfinite(none + served)) {
    serving.served_loss = serving.served_loss * decay + served;
    serving.champion_loss = serving.champion_loss * decay + none;
  }
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    const ChallengerLosses& scored = losses_[i];
    if (!scored.predicted) continue;
    Challenger& challenger = state_.challengers[i];
    challenger.blend_gain.add(none, weight * scored.half, weight * scored.loss, scored.distance,
                              decay);
    challenger.pairing.add(infinite_if_nan(champion_loss), infinite_if_nan(scored.loss), weight,
                           state_.level, rules_);
  }
  if (std::isfinite(none)) {
    ++state_.charged;
    const double share = std::max(1.0 / static_cast<double>(state_.charged), 1.0 / kMemory);
    state_.level += share * (none - state_.level);
    state_.surprise.add(none, weight * step_loss, state_.charged, t);
  }
}

bool Contest::decide(std::int64_t t) noexcept {
  bool due = state_.decide_anyway;
  due |= state_.surprise.is_due(state_.charged, t);
  for (const Challenger& challenger : state_.challengers) {
    const Pairing& pairing = challenger.pairing;
    due |= pairing.reached() >= 1.0;
    due |= (pairing.odds_against() >= rules_.eliminates) & (pairing.n >= rules_.patience);
    due |= pairing.n >= challenger.lease;
  }
  if (!due) choose_blend();
  return due;
}

void Contest::choose_blend() noexcept {
  Serving& serving = state_.serving;
  serving.other = Serving::kNoChallenger;
  serving.share = 0.0;
  serving.max_distance = 0.0;
  if (blending_.champion_only) return;
  if (serving.served_loss > serving.champion_loss * (1.0 + blending_.tolerance)) return;
  const std::int64_t least =
      state_.charged < blending_.burn_in ? blending_.early : blending_.burn_in;
  double best = 0.0;
  for (std::size_t i = 0; i < state_.challengers.size(); ++i) {
    const BlendGain& blend_gain = state_.challengers[i].blend_gain;
    if (blend_gain.n < least) continue;
    for (const double share : kShares) {
      const double gain = blend_gain.gain(share, blending_.standard_errors);
      if (!(gain > best)) continue;
      best = gain;
      serving.other = static_cast<std::int64_t>(i);
      serving.share = share;
    }
  }
  if (!serving.blends()) return;
  serving.max_distance = blending_.clip * std::sqrt(state_.other().blend_gain.square_distance);
}

}  // namespace chacha
