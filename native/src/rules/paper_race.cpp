#include "rules/paper_race.hpp"

#include <algorithm>

namespace chacha {
namespace {

constexpr double kYoung = 100.0;      // before that nothing is quiet
constexpr std::int64_t kWorthwhile = 4;   // a quiet time that pays
constexpr std::int64_t kImpatience = 32;  // examples, after one that did not
constexpr double kMostQuiet = 1024.0;  // examples
constexpr std::size_t kVector = 4;  // a whole number of vectors is worked on; what is beyond is not looked at

}  // namespace

void Race::line_up(std::vector<Contender> contenders, std::int64_t challengers, bool restless) {
  std::vector<double>* arrays[] = {&n_, &total_, &weight_, &d_, &log_, &raw_, &mean_, &epsilon_};
  const std::size_t padded = (contenders.size() + kVector - 1) / kVector * kVector;
  for (auto* array : arrays) array->reserve(padded);
  twins_.reserve(contenders.size());
  for (auto* array : arrays) array->assign(padded, 0.0);
  contenders_ = std::move(contenders);
  challengers_ = challengers;
  restless_ = restless;
  quiet_ = 0;
  whole_ = true;
}

std::size_t Race::find(std::uint32_t model) const {
  std::size_t i = 0;
  while (i < contenders_.size() && contenders_[i].model != model) ++i;
  return i;
}

void Race::forget(std::uint32_t model) {
  const std::size_t i = find(model);
  if (i == size()) return;
  contenders_[i].model = kNobody;
  whole_ = false;
}

void Race::set_standing(std::size_t i, const Standing& standing) {
  n_[i] = static_cast<double>(standing.n);
  total_[i] = standing.total;
  weight_[i] = standing.weight;
  quiet_ = 0;
}

void Race::charge_one(std::size_t i, double loss, double weight) noexcept {
  n_[i] += 1.0;
  total_[i] += weight * loss;
  weight_[i] += weight;
  quiet_ = 0;
}

void Race::charge(const Kernel& kernel, const ServedLoss& loss, double y, double low, double high,
                  double weight) noexcept {
  if (weight != 1.0) quiet_ = 0;
  if (quiet_ > 0) {
    for (const std::size_t twin : twins_) quiet_ = raw_[twin] == raw_[best_] ? quiet_ : 0;
  }
  if (loss.kind == LossKind::kSquared || loss.kind == LossKind::kQuantile) {
    kernel.charge({raw_.data(), raw_.size(), y, low, high, weight, n_.data(), total_.data(), weight_.data()});
    return;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    n_[i] += 1.0;
    total_[i] += weight * loss.proxy(raw_[i], y, low, high);
    weight_[i] += weight;
  }
}

void Race::find_bounds(const Kernel& kernel, const SampleComplexity& evidence, double loss_range) noexcept {
  double n = -1.0;
  double log = 0.0;
  for (std::size_t i = 0; i < size(); ++i) {  // those that started together share the logarithm
    if (n_[i] != n && n_[i] > 0) {
      n = n_[i];
      log = evidence.logarithm(static_cast<std::int64_t>(n), challengers_);
    }
    log_[i] = log;
  }
  if (evidence.log_in_root) {
    kernel.bound({n_.data(), total_.data(), weight_.data(), d_.data(), log_.data(), evidence.scale * loss_range,
                  n_.size(), mean_.data(), epsilon_.data()});
    return;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const Bound bound = evidence.bound(standing(i), d_[i], log_[i], loss_range);
    mean_[i] = bound.mean;
    epsilon_[i] = bound.epsilon;
  }
}

bool Race::decide(const Kernel& kernel, const SampleComplexity& evidence, double loss_range,
                  std::size_t& best) noexcept {
  if (quiet_ > 0 && loss_range == quiet_range_) {
    --quiet_;
    best = best_;
    return false;
  }
  find_bounds(kernel, evidence, loss_range);
  const Bound champion{mean_[0], epsilon_[0]};
  double lowest = champion.upper();
  best = 0;
  bool event = restless_;
  const auto burn_in = static_cast<double>(evidence.burn_in);
  event |= n_[0] >= static_cast<double>(contenders_[0].lease);
  for (std::size_t i = 1; i < size(); ++i) {
    event |= n_[i] >= static_cast<double>(contenders_[i].lease);
    if (n_[i] < burn_in) continue;
    const Bound bound{mean_[i], epsilon_[i]};
    event |= contenders_[i].challenger & (better_than(bound, champion) | worse_than(bound, champion));
    if (bound.upper() < lowest) {
      lowest = bound.upper();
      best = i;
    }
  }
  best_ = best;
  quiet_range_ = loss_range;
  if (event || impatience_ > 0) {
    quiet_ = 0;
    impatience_ -= impatience_ > 0 ? 1 : 0;
    return event;
  }
  quiet_ = static_cast<std::int64_t>(quiet_time(evidence, loss_range));
  if (quiet_ < kWorthwhile) impatience_ = kImpatience;
  return event;
}

// Whether a contender stands where the best stands; with the same losses they stay together.
bool Race::is_twin(std::size_t i) const noexcept {
  return n_[i] == n_[best_] && total_[i] == total_[best_] && weight_[i] == weight_[best_] && d_[i] == d_[best_];
}

// For how many examples of weight 1 nothing can happen, if labels stay in their range and no
// feature is new. Half of what the margins allow, which leaves room for rounding.
double Race::quiet_time(const SampleComplexity& evidence, double loss_range) noexcept {
  twins_.clear();
  if (!evidence.log_in_root || !(n_[0] >= kYoung)) return 0.0;
  const double base = evidence.natural ? 1.0 : evidence.log_of_base;
  const auto burn_in = static_cast<double>(evidence.burn_in);
  const auto pace = [&](std::size_t i) { return loss_range / weight_[i] + epsilon_[i] / (2.0 * n_[i]); };
  const double champion_pace = pace(0);
  const double twice_pace = champion_pace + epsilon_[0] / (2.0 * n_[0]);  // of the mean less two epsilons
  const double best_pace = pace(best_);
  const double lowest = mean_[best_] + epsilon_[best_];
  double slack = kMostQuiet;
  double end = kMostQuiet;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!(n_[i] > 0) || log_[i] * base < 1.0) return 0.0;  // only then epsilon falls with n
    const double own = pace(i);
    const double upper = mean_[i] + epsilon_[i];
    if (i != best_ && is_twin(i)) {
      twins_.push_back(i);
    } else if (i != best_ && (i == 0 || n_[i] >= burn_in)) {
      slack = std::min(slack, (upper - lowest) / (own + best_pace));
    }
    end = std::min(end, static_cast<double>(contenders_[i].lease) - n_[i] - 1.0);
    if (i == 0) continue;
    if (n_[i] < burn_in) {
      end = std::min(end, burn_in - n_[i] - 1.0);
      continue;
    }
    if (!contenders_[i].challenger) continue;
    slack = std::min(slack, (upper - (mean_[0] - 2.0 * epsilon_[0])) / (own + twice_pace));
    slack = std::min(slack, (mean_[0] + epsilon_[0] - (mean_[i] - epsilon_[i])) / (own + champion_pace));
  }
  return std::max(0.0, std::min(end, slack / 2.0));
}

}  // namespace chacha
