#include "rules/contest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chacha {
namespace {

constexpr double kLeastVariance = 1e-4;
constexpr double kNothing = 1e-200;
constexpr double kMemory = 2000.0;
constexpr double kShares[] = {0.25, 0.5, 0.75, 1.0};

double kept(double odds) { return odds > kNothing ? odds : 0.0; }

// A loss that is not a number counts as infinite.
double worst(double loss) { return std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss; }

double clipped(double value) { return std::min(std::max(value, -1.0), 1.0); }

}  // namespace

double PairedRules::sign(std::uint64_t k, std::int64_t n) const {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ULL + k * 0xbf58476d1ce4e5b9ULL + static_cast<std::uint64_t>(n / coin_block);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return ((x ^ (x >> 31)) & 1U) != 0 ? 1.0 : -1.0;
}

double PairedRules::bet(double mean, double variance) const {
  const double size = std::fabs(mean);
  if (bernstein) return std::min(2.0 * size / (variance + 2.0 * size), most);
  return std::min(size / (variance + mean * mean), most);
}

double PairedRules::payoff(double bet, double g, double mean) const {
  if (!bernstein) return 1.0 + bet * g;
  const double psi = -std::log1p(-bet) - bet;
  const double half = (g - mean) * 0.5;
  return std::exp(bet * g * 0.5 - psi * half * half);
}

void Pairing::add(double champion, double own, double weight, double level, const PairedRules& rules) noexcept {
  ++n;
  champion_loss += weight * champion;
  loss += weight * own;
  if (scale == 0.0) scale = rules.clip * level;
  double ahead = champion - own;
  if (std::isnan(ahead) || !(scale > 0.0 || std::isinf(ahead))) return;
  if (rules.coin) ahead *= rules.sign(static_cast<std::uint64_t>(number), blocks * rules.block + parts);
  double gain = ahead;
  double harm = -ahead;
  if (!std::isinf(ahead)) {
    gain = weight * (ahead - rules.margin * champion) / scale;
    harm = weight * -ahead / scale;
  }
  clips += std::fabs(gain) > 1.0 ? 1 : 0;
  part += clipped(gain);
  part_harm += clipped(harm);
  if (++parts == rules.block) bet(rules);
}

void Pairing::bet(const PairedRules& rules) noexcept {
  const double wider = rules.clip / (rules.block_clip * static_cast<double>(rules.block));
  const double gain = clipped(part * wider);
  const double harm = clipped(part_harm * wider);
  ++blocks;
  parts = 0;
  part = part_harm = 0.0;
  if (seen >= rules.warm_up) {
    const auto count = static_cast<double>(seen);
    const double mean = total / count;
    const double variance = squares / count - mean * mean + kLeastVariance;
    const double share = rules.bet(mean, variance);
    if (mean > 0.0) {
      wealth = kept(wealth * rules.payoff(share, gain, mean));
    } else if (mean < 0.0) {
      against = kept(against * rules.payoff(share, harm, -mean));
    }
  }
  ++seen;
  total += gain;
  squares += gain * gain;
}

void Helping::add(double none_, double half_, double whole_, double distance, double decay) noexcept {
  const double square = distance * distance;
  if (!std::isfinite(none_ + half_ + whole_ + square)) return;
  ++n;
  none = none * decay + none_;
  half = half * decay + half_;
  whole = whole * decay + whole_;
  const double saved = none_ - half_;
  noise = noise * (decay * decay) + saved * saved;
  apart += std::max(1.0 / static_cast<double>(n), 1.0 - decay) * (square - apart);
}

double Helping::gain(double share, double errors) const noexcept {
  const double bend = 2.0 * (whole - 2.0 * half + none);
  const double slope = 4.0 * half - 3.0 * none - whole;
  const double error = 2.0 * share * std::sqrt(noise);
  return -(slope * share + bend * share * share) - errors * error;
}

double Serving::served(double champion, double prediction) const noexcept {
  const double apart = prediction - champion;
  if (std::isnan(apart)) return champion;
  return champion + share * std::min(std::max(apart, -most), most);
}

void Contest::line_up(std::uint32_t champion, std::vector<Challenger> challengers, const Serving& serving, double level,
                      std::int64_t charged, bool restless) {
  raw_.resize(challengers.size());
  known_.resize(challengers.size());
  champion_ = champion;
  challengers_ = std::move(challengers);
  serving_ = serving;
  level_ = level;
  charged_ = charged;
  restless_ = restless;
  whole_ = true;
}

void Contest::forget(std::uint32_t model) {
  whole_ = whole_ && model != champion_;
  for (const Challenger& challenger : challengers_) whole_ = whole_ && challenger.model != model;
}

void Contest::begin_round() noexcept {
  champion_known_ = false;
  std::fill(known_.begin(), known_.end(), char{0});
}

void Contest::predicted(std::uint32_t model, double raw) noexcept {
  if (model == champion_) {
    champion_raw_ = raw;
    champion_known_ = true;
    return;
  }
  for (std::size_t i = 0; i < challengers_.size(); ++i) {
    if (challengers_[i].model != model) continue;
    raw_[i] = raw;
    known_[i] = 1;
    return;
  }
}

void Contest::charge(const ServedLoss& loss, double served, double y, double weight) noexcept {
  const double own = loss.loss(champion_raw_, y);
  const double none = weight * own;
  const double lost = weight * loss.loss(served, y);
  const double decay = blending_.decay;
  if (std::isfinite(none + lost)) {
    serving_.lost = serving_.lost * decay + lost;
    serving_.champion_lost = serving_.champion_lost * decay + none;
  }
  for (std::size_t i = 0; i < challengers_.size(); ++i) {
    if (known_[i] == 0) continue;
    Challenger& challenger = challengers_[i];
    const double apart = raw_[i] - champion_raw_;
    const double theirs = loss.loss(raw_[i], y);
    const double half = weight * loss.loss(champion_raw_ + 0.5 * apart, y);
    challenger.helping.add(none, half, weight * theirs, apart, decay);
    challenger.pairing.add(worst(own), worst(theirs), weight, level_, rules_);
  }
  if (std::isfinite(none)) {
    ++charged_;
    const double share = std::max(1.0 / static_cast<double>(charged_), 1.0 / kMemory);
    level_ += share * (none - level_);
  }
}

bool Contest::decide() noexcept {
  bool event = restless_;
  for (const Challenger& challenger : challengers_) {
    const Pairing& pairing = challenger.pairing;
    event |= (pairing.wealth + pairing.reserve) / pairing.needed >= 1.0;
    event |= (pairing.against + pairing.reserve >= rules_.eliminates) & (pairing.n >= rules_.patience);
    event |= pairing.n >= challenger.lease;
  }
  if (!event) choose();
  return event;
}

void Contest::choose() noexcept {
  serving_.other = Serving::kNobody;
  serving_.share = 0.0;
  serving_.most = 0.0;
  if (blending_.champion_only || serving_.lost > serving_.champion_lost * (1.0 + blending_.harm)) return;
  const std::int64_t least = charged_ < blending_.burn_in ? blending_.early : blending_.burn_in;
  double best = 0.0;
  for (std::size_t i = 0; i < challengers_.size(); ++i) {
    const Helping& helping = challengers_[i].helping;
    if (helping.n < least) continue;
    for (const double share : kShares) {
      const double gain = helping.gain(share, blending_.noise);
      if (!(gain > best)) continue;
      best = gain;
      serving_.other = static_cast<std::uint32_t>(i);
      serving_.share = share;
    }
  }
  if (serving_.other == Serving::kNobody) return;
  serving_.most = blending_.wild * std::sqrt(challengers_[serving_.other].helping.apart);
}

}  // namespace chacha
