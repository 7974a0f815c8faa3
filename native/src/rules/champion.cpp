#include "rules/champion.hpp"

#include <algorithm>

namespace chacha {
namespace {

constexpr double kFewestExamples = 100.0;  // of the champion, before tests are left out
constexpr std::int64_t kLeastIdle = 4;     // examples that make it worth while
constexpr std::int64_t kBackoff = 32;      // examples, after a shorter time
constexpr double kMostIdle = 1024.0;       // examples
constexpr std::size_t kVector = 4;         // arrays are padded to whole vectors of doubles

}  // namespace

void ChampionChallengers::set_contenders(std::vector<Contender> contenders,
                                         std::int64_t challengers, bool decide_anyway) {
  std::vector<double>* arrays[] = {&n_, &total_, &weight_, &d_, &log_, &raw_, &mean_, &epsilon_};
  const std::size_t padded = (contenders.size() + kVector - 1) / kVector * kVector;
  for (auto* array : arrays) array->reserve(padded);
  ties_.reserve(contenders.size());
  for (auto* array : arrays) array->assign(padded, 0.0);
  contenders_ = std::move(contenders);
  challengers_ = challengers;
  decide_anyway_ = decide_anyway;
  idle_ = 0;
  complete_ = true;
}

std::size_t ChampionChallengers::find(std::uint32_t model) const {
  std::size_t i = 0;
  while (i < contenders_.size() && contenders_[i].model != model) ++i;
  return i;
}

void ChampionChallengers::forget(std::uint32_t model) {
  const std::size_t i = find(model);
  if (i == size()) return;
  contenders_[i].model = kNoModel;
  complete_ = false;
}

void ChampionChallengers::set_standing(std::size_t i, const ProgressiveLoss& standing) {
  n_[i] = static_cast<double>(standing.n);
  total_[i] = standing.total;
  weight_[i] = standing.weight;
  idle_ = 0;
}

void ChampionChallengers::charge_one(std::size_t i, double loss, double weight) noexcept {
  n_[i] += 1.0;
  total_[i] += weight * loss;
  weight_[i] += weight;
  idle_ = 0;
}

void ChampionChallengers::charge(const Kernel& kernel, const ServedLoss& loss, double y, double low,
                                 double high, double weight) noexcept {
  if (weight != 1.0) idle_ = 0;
  if (idle_ > 0) {
    for (const std::size_t tie : ties_) idle_ = raw_[tie] == raw_[best_] ? idle_ : 0;
  }
  if (loss.absolute_proxy()) {
    kernel.charge(
        {raw_.data(), raw_.size(), y, low, high, weight, n_.data(), total_.data(), weight_.data()});
    return;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    n_[i] += 1.0;
    total_[i] += weight * loss.proxy(raw_[i], y, low, high);
    weight_[i] += weight;
  }
}

void ChampionChallengers::find_bounds(const Kernel& kernel, const SampleComplexity& evidence,
                                      double loss_range) noexcept {
  double n = -1.0;
  double log = 0.0;
  for (std::size_t i = 0; i < size(); ++i) {  // models that started together share the logarithm
    if (n_[i] != n && n_[i] > 0) {
      n = n_[i];
      log = evidence.logarithm(static_cast<std::int64_t>(n), challengers_);
    }
    log_[i] = log;
  }
  if (evidence.log_in_root) {
    kernel.bound({n_.data(), total_.data(), weight_.data(), d_.data(), log_.data(),
                  evidence.scale * loss_range, n_.size(), mean_.data(), epsilon_.data()});
    return;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const Bound bound = evidence.bound(standing(i), d_[i], log_[i], loss_range);
    mean_[i] = bound.mean;
    epsilon_[i] = bound.epsilon;
  }
}

bool ChampionChallengers::decide(const Kernel& kernel, const SampleComplexity& evidence,
                                 double loss_range, std::size_t& best) noexcept {
  if (idle_ > 0 && loss_range == idle_range_) {
    --idle_;
    best = best_;
    return false;
  }
  find_bounds(kernel, evidence, loss_range);
  const Bound champion{mean_[0], epsilon_[0]};
  double lowest = champion.upper();
  best = 0;
  bool due = decide_anyway_;
  const auto burn_in = static_cast<double>(evidence.burn_in);
  due |= n_[0] >= static_cast<double>(contenders_[0].lease);
  for (std::size_t i = 1; i < size(); ++i) {
    due |= n_[i] >= static_cast<double>(contenders_[i].lease);
    if (n_[i] < burn_in) continue;
    const Bound bound{mean_[i], epsilon_[i]};
    const bool fires = better_than(bound, champion) | worse_than(bound, champion);
    due |= contenders_[i].challenger & fires;
    if (bound.upper() < lowest) {
      lowest = bound.upper();
      best = i;
    }
  }
  best_ = best;
  idle_range_ = loss_range;
  if (due || backoff_ > 0) {
    idle_ = 0;
    backoff_ -= backoff_ > 0 ? 1 : 0;
    return due;
  }
  idle_ = static_cast<std::int64_t>(examples_without_event(evidence, loss_range));
  if (idle_ < kLeastIdle) backoff_ = kBackoff;
  return due;
}

// Whether a contender equals the best; with the same losses it stays equal.
bool ChampionChallengers::is_tied(std::size_t i) const noexcept {
  return n_[i] == n_[best_] && total_[i] == total_[best_] && weight_[i] == weight_[best_] &&
         d_[i] == d_[best_];
}

// The number of examples of weight 1 for which no decision can be due and the best stays the best,
// if labels stay in their range and no feature is new. Half of what the margins allow, which leaves
// room for rounding. The proof assumes the bound a·√(d·log/n) of rules/bounds.hpp.
double ChampionChallengers::examples_without_event(const SampleComplexity& evidence,
                                                   double loss_range) noexcept {
  ties_.clear();
  if (!evidence.log_in_root || !(n_[0] >= kFewestExamples)) return 0.0;
  const double base = evidence.natural ? 1.0 : evidence.log_of_base;
  const auto burn_in = static_cast<double>(evidence.burn_in);
  const auto pace = [&](std::size_t i) {  // how far a bound can move per example
    return loss_range / weight_[i] + epsilon_[i] / (2.0 * n_[i]);
  };
  const double champion_pace = pace(0);
  const double twice_pace = champion_pace + epsilon_[0] / (2.0 * n_[0]);  // of mean - 2·epsilon
  const double best_pace = pace(best_);
  const double lowest = mean_[best_] + epsilon_[best_];
  double slack = kMostIdle;
  double end = kMostIdle;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!(n_[i] > 0) || log_[i] * base < 1.0) return 0.0;  // else epsilon falls with n
    const double own_pace = pace(i);
    const double upper = mean_[i] + epsilon_[i];
    if (i != best_ && is_tied(i)) {
      ties_.push_back(i);
    } else if (i != best_ && (i == 0 || n_[i] >= burn_in)) {
      slack = std::min(slack, (upper - lowest) / (own_pace + best_pace));
    }
    end = std::min(end, static_cast<double>(contenders_[i].lease) - n_[i] - 1.0);
    if (i == 0) continue;
    if (n_[i] < burn_in) {
      end = std::min(end, burn_in - n_[i] - 1.0);
      continue;
    }
    if (!contenders_[i].challenger) continue;
    slack = std::min(slack, (upper - (mean_[0] - 2.0 * epsilon_[0])) / (own_pace + twice_pace));
    const double above = mean_[0] + epsilon_[0] - (mean_[i] - epsilon_[i]);
    slack = std::min(slack, above / (own_pace + champion_pace));
  }
  return std::max(0.0, std::min(end, slack / 2.0));
}

}  // namespace chacha
