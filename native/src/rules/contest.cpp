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

void Contest::set_state(std::uint32_t champion, std::vector<Challenger> challengers,
                        const Serving& serving, double level, std::int64_t charged,
                        bool decide_anyway) {
  raw_.resize(challengers.size());
  predicted_.resize(challengers.size());
  champion_ = champion;
  challengers_ = std::move(challengers);
  serving_ = serving;
  level_ = level;
  charged_ = charged;
  decide_anyway_ = decide_anyway;
  complete_ = true;
}

void Contest::forget(std::uint32_t model) {
  complete_ = complete_ && model != champion_;
  for (const Challenger& challenger : challengers_) {
    complete_ = complete_ && challenger.model != model;
  }
}

void Contest::begin_round() noexcept {
  champion_predicted_ = false;
  std::fill(predicted_.begin(), predicted_.end(), char{0});
}

void Contest::predicted(std::uint32_t model, double raw) noexcept {
  if (model == champion_) {
    champion_raw_ = raw;
    champion_predicted_ = true;
    return;
  }
  for (std::size_t i = 0; i < challengers_.size(); ++i) {
    if (challengers_[i].model != model) continue;
    raw_[i] = raw;
    predicted_[i] = 1;
    return;
  }
}

void Contest::charge(const ServedLoss& loss, double served, double y, double weight) noexcept {
  const double champion_loss = loss.loss(champion_raw_, y);
  const double none = weight * champion_loss;
  const double served_loss = weight * loss.loss(served, y);
  const double decay = blending_.decay;
  if (std::isfinite(none + served_loss)) {
    serving_.served_loss = serving_.served_loss * decay + served_loss;
    serving_.champion_loss = serving_.champion_loss * decay + none;
  }
  for (std::size_t i = 0; i < challengers_.size(); ++i) {
    if (predicted_[i] == 0) continue;
    Challenger& challenger = challengers_[i];
    const double distance = raw_[i] - champion_raw_;
    const double challenger_loss = loss.loss(raw_[i], y);
    const double half = weight * loss.loss(champion_raw_ + 0.5 * distance, y);
    challenger.blend_gain.add(none, half, weight * challenger_loss, distance, decay);
    challenger.pairing.add(infinite_if_nan(champion_loss), infinite_if_nan(challenger_loss), weight,
                           level_, rules_);
  }
  if (std::isfinite(none)) {
    ++charged_;
    const double share = std::max(1.0 / static_cast<double>(charged_), 1.0 / kMemory);
    level_ += share * (none - level_);
  }
}

bool Contest::decide() noexcept {
  bool due = decide_anyway_;
  for (const Challenger& challenger : challengers_) {
    const Pairing& pairing = challenger.pairing;
    due |= pairing.reached() >= 1.0;
    due |= (pairing.odds_against() >= rules_.eliminates) & (pairing.n >= rules_.patience);
    due |= pairing.n >= challenger.lease;
  }
  if (!due) choose_blend();
  return due;
}

void Contest::choose_blend() noexcept {
  serving_.other = Serving::kNoChallenger;
  serving_.share = 0.0;
  serving_.max_distance = 0.0;
  if (blending_.champion_only) return;
  if (serving_.served_loss > serving_.champion_loss * (1.0 + blending_.tolerance)) return;
  const std::int64_t least = charged_ < blending_.burn_in ? blending_.early : blending_.burn_in;
  double best = 0.0;
  for (std::size_t i = 0; i < challengers_.size(); ++i) {
    const BlendGain& blend_gain = challengers_[i].blend_gain;
    if (blend_gain.n < least) continue;
    for (const double share : kShares) {
      const double gain = blend_gain.gain(share, blending_.standard_errors);
      if (!(gain > best)) continue;
      best = gain;
      serving_.other = static_cast<std::uint32_t>(i);
      serving_.share = share;
    }
  }
  if (serving_.other == Serving::kNoChallenger) return;
  serving_.max_distance =
      blending_.clip * std::sqrt(challengers_[serving_.other].blend_gain.square_distance);
}

}  // namespace chacha
