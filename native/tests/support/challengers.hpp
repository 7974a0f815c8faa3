// Challengers as the rules start them, for tests of the contest.
#pragma once

#include <cstdint>

#include "rules/contest.hpp"

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

}  // namespace chacha
