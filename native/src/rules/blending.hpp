// The served prediction: the champion's, or a blend with that of a challenger.
// Twin: src/chacha/rules/contest/blending.py; expressions keep its order, so the bits are the same.
#pragma once

#include <cstdint>

namespace chacha {

// Twin: Blending and ChampionServes.
struct BlendRules {
  std::int64_t burn_in = 100;
  std::int64_t early = 2;  // instead of burn_in, until the champion has had burn_in examples
  double decay = 0.999;
  double noise = 0.5;
  double wild = 3.0;
  double harm = 0.005;
  bool champion_only = false;
};

// What blending in one challenger would have gained: decayed sums of losses.
struct Helping {
  std::int64_t n = 0;
  double none = 0.0, half = 0.0, whole = 0.0, noise = 0.0, apart = 0.0;

  void add(double none_loss, double half_loss, double whole_loss, double distance,
           double decay) noexcept;
  double gain(double share, double errors) const noexcept;
};

// The current blend: the champion's prediction, and `share` of the way to that of a challenger.
struct Serving {
  static constexpr std::uint32_t kNoChallenger = 0xffffffffU;
  std::uint32_t other = kNoChallenger;  // position among the challengers
  double share = 0.0;
  double most = 0.0;  // the largest distance that counts
  double lost = 0.0, champion_lost = 0.0;

  double served(double champion, double challenger) const noexcept;
};

}  // namespace chacha
