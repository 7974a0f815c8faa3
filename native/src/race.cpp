#include "race.hpp"

namespace chacha {
namespace {

constexpr std::size_t kVector = 4;  // a whole number of vectors is worked on; what is beyond is not looked at

}  // namespace

void Race::line_up(std::vector<Contender> contenders, std::int64_t challengers, bool restless) {
  std::vector<double>* arrays[] = {&n_, &total_, &weight_, &d_, &log_, &raw_, &mean_, &epsilon_};
  const std::size_t padded = (contenders.size() + kVector - 1) / kVector * kVector;
  for (auto* array : arrays) array->reserve(padded);
  for (auto* array : arrays) array->assign(padded, 0.0);
  contenders_ = std::move(contenders);
  challengers_ = challengers;
  restless_ = restless;
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
}

void Race::charge_one(std::size_t i, double loss, double weight) noexcept {
  n_[i] += 1.0;
  total_[i] += weight * loss;
  weight_[i] += weight;
}

void Race::charge(const Kernel& kernel, const ServedLoss& loss, double y, double low, double high,
                  double weight) noexcept {
  if (loss.kind == LossKind::kSquared || loss.kind == LossKind::kQuantile) {
    kernel.charge({raw_.data(), raw_.size(), y, low, high, weight, n_.data(), total_.data(), weight_.data()});
    return;
  }
  for (std::size_t i = 0; i < size(); ++i) charge_one(i, loss.proxy(raw_[i], y, low, high), weight);
}

bool Race::decide(const Kernel& kernel, const SampleComplexity& evidence, double loss_range,
                  std::size_t& best) noexcept {
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
    kernel.bound({n_.data(), total_.data(), weight_.data(), d_.data(), log_.data(), evidence.scale * loss_range, n_.size(),
                  mean_.data(), epsilon_.data()});
  } else {
    for (std::size_t i = 0; i < size(); ++i) {
      const Bound bound = evidence.bound(standing(i), d_[i], log_[i], loss_range);
      mean_[i] = bound.mean;
      epsilon_[i] = bound.epsilon;
    }
  }
  const Bound champion{mean_[0], epsilon_[0]};
  double lowest = champion.upper();
  best = 0;
  bool event = restless_;
  const auto burn_in = static_cast<double>(evidence.burn_in);
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
  return event;
}

}  // namespace chacha
