#include "rules/betting.hpp"

#include <algorithm>
#include <cmath>

namespace chacha {
namespace {

constexpr double kLeastVariance = 1e-4;
constexpr double kLeastOdds = 1e-200;  // smaller ones count as 0

double odds_or_zero(double odds) { return odds > kLeastOdds ? odds : 0.0; }

double clipped(double value) { return std::min(std::max(value, -1.0), 1.0); }

}  // namespace

double PairedBetting::sign(std::uint64_t k, std::int64_t n) const {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ULL + k * 0xbf58476d1ce4e5b9ULL +
                    static_cast<std::uint64_t>(n / coin_block);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return ((x ^ (x >> 31)) & 1U) != 0 ? 1.0 : -1.0;
}

double PairedBetting::bet(double mean, double variance) const {
  const double size = std::fabs(mean);
  if (bernstein) return std::min(2.0 * size / (variance + 2.0 * size), most);
  return std::min(size / (variance + mean * mean), most);
}

double PairedBetting::payoff(double bet, double g, double mean) const {
  if (!bernstein) return 1.0 + bet * g;
  const double psi = -std::log1p(-bet) - bet;
  const double half = (g - mean) * 0.5;
  return std::exp(bet * g * 0.5 - psi * half * half);
}

double PairedBetting::payoff_of_block(double mean, double variance, double gain,
                                      double harm) const {
  if (custom) return custom(mean, variance, gain, harm);
  const double share = bet(mean, variance);
  return mean > 0.0 ? payoff(share, gain, mean) : payoff(share, harm, -mean);
}

void Pairing::add(double champion, double challenger, double weight, double level,
                  const PairedBetting& rules) noexcept {
  ++n;
  champion_loss += weight * champion;
  loss += weight * challenger;
  if (scale == 0.0) scale = rules.clip * level;
  double ahead = champion - challenger;
  if (std::isnan(ahead) || !(scale > 0.0 || std::isinf(ahead))) return;
  if (rules.coin) {
    ahead *= rules.sign(static_cast<std::uint64_t>(number), blocks * rules.block + block_n);
  }
  double gain = ahead;
  double harm = -ahead;
  if (!std::isinf(ahead)) {
    gain = weight * (ahead - rules.margin * champion) / scale;
    harm = weight * -ahead / scale;
  }
  clips += std::fabs(gain) > 1.0 ? 1 : 0;
  block_gain += clipped(gain);
  block_harm += clipped(harm);
  if (++block_n == rules.block) bet(rules);
}

void Pairing::bet(const PairedBetting& rules) noexcept {
  const double wider = rules.clip / (rules.block_clip * static_cast<double>(rules.block));
  const double gain = clipped(block_gain * wider);
  const double harm = clipped(block_harm * wider);
  ++blocks;
  block_n = 0;
  block_gain = block_harm = 0.0;
  if (blocks_since_restart >= rules.warm_up) {
    const auto count = static_cast<double>(blocks_since_restart);
    const double mean = total / count;
    const double variance = squares / count - mean * mean + kLeastVariance;
    const double payoff = rules.payoff_of_block(mean, variance, gain, harm);
    if (mean > 0.0) {
      wealth = odds_or_zero(wealth * payoff);
    } else if (mean < 0.0) {
      against = odds_or_zero(against * payoff);
    }
  }
  ++blocks_since_restart;
  total += gain;
  squares += gain * gain;
}

}  // namespace chacha
