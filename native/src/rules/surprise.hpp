// Surprise: the champion's losses are suddenly unlike what they used to be.
// Twin: src/chacha/rules/contest/surprise.py; expressions keep its order, so the bits are the same.
#pragma once

#include <algorithm>
#include <cstdint>

namespace chacha {

struct Surprise {
  static constexpr double kLong = 2000.0, kShort = 32.0, kCut = 8.0;
  static constexpr double kLarge = 3.0, kSmall = 1.0 / 16.0;
  static constexpr std::int64_t kLeast = 200;

  double usual = 0.0, recent = 0.0;
  std::int64_t calm = 0;  // the example until which no change is looked for

  // Adds a loss of the champion, the `charged`-th, which is finite.
  void add(double loss, std::int64_t charged) noexcept {
    const double cut = usual > 0.0 ? std::min(loss, kCut * usual) : loss;
    const double share = 1.0 / static_cast<double>(charged);
    usual += std::max(share, 1.0 / kLong) * (cut - usual);
    recent += std::max(share, 1.0 / kShort) * (cut - recent);
  }
  bool is_surprised(std::int64_t charged, std::int64_t t) const noexcept {
    if (charged < kLeast || t < calm || !(usual > 0.0)) return false;
    return recent > kLarge * usual || recent < kSmall * usual;
  }
};

}  // namespace chacha
