// Challengers as the rules start them, for tests of the contest.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "rules/contest.hpp"
#include "rules/served_loss.hpp"

namespace chacha {

constexpr std::int64_t kNever = std::int64_t{1} << 62;  // a lease without end
inline const ServedLoss kSquare;

inline Challenger challenger(std::uint32_t model, std::int64_t lease = kNever) {
  Challenger fresh{model, lease, {}, {}};
  fresh.pairing.number = 1;
  fresh.pairing.needed = 41.0;
  fresh.pairing.reserve = fresh.pairing.wealth = fresh.pairing.against = 0.5;
  return fresh;
}

// A contest that begins.
inline ContestState contest_of(std::uint32_t champion, std::vector<Challenger> challengers,
                               const Serving& serving = {}) {
  return {champion, 0, 0.0, {}, false, serving, std::move(challengers)};
}

// Charges predictions, the champion's first, as Engine::charge_contest does. Challengers beyond
// the end of `raw` have made no prediction.
inline void charge(Contest& contest, const ServedLoss& loss, const std::vector<double>& raw,
                   double served, double y, double weight) {
  const double champion = raw[0];
  for (std::size_t i = 0; i < contest.state().challengers.size(); ++i) {
    ChallengerLosses& losses = contest.losses(i);
    losses.predicted = i + 1 < raw.size();
    if (!losses.predicted) continue;
    losses.distance = raw[i + 1] - champion;
    losses.loss = loss.loss(raw[i + 1], y);
    losses.half = loss.loss(champion + 0.5 * losses.distance, y);
  }
  contest.charge(loss.loss(champion, y), loss.loss(served, y), std::nan(""), weight,
                 contest.state().charged + 1);
}

}  // namespace chacha
