// The served prediction: the champion's, or a blend with that of a challenger.
// Twin: src/chacha/rules/contest/blending.py; expressions keep its order, so the bits are the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace chacha {

// Twin: Blending and ChampionServes.
struct Blending {
  std::int64_t burn_in = 100;
  std::int64_t early = 2;  // instead of burn_in, until the champion has had burn_in examples
  double decay = 0.999;
  double standard_errors = 0.5;
  double clip = 3.0;
  double tolerance = 0.005;
  bool champion_only = false;
};

// What blending in one challenger would have gained: decayed sums of losses.
struct BlendGain {
  std::int64_t n = 0;
  double none = 0.0, half = 0.0, whole = 0.0, squares = 0.0, square_distance = 0.0;

  // Every field, by the name and in the order of the twin.
  template <class Visit>
  static void each_field(Visit visit) {
    visit("n", &BlendGain::n);
    visit("none", &BlendGain::none);
    visit("half", &BlendGain::half);
    visit("whole", &BlendGain::whole);
    visit("squares", &BlendGain::squares);
    visit("square_distance", &BlendGain::square_distance);
  }

  void add(double none_loss, double half_loss, double whole_loss, double distance,
           double decay) noexcept;
  double gain(double share, double errors) const noexcept;
};

// The current blend: the champion's prediction, and `share` of the way to that of a challenger.
struct Serving {
  static constexpr std::int64_t kNoChallenger = -1;
  std::int64_t other = kNoChallenger;  // position among the challengers
  double share = 0.0;
  double max_distance = 0.0;  // the largest distance that counts
  double served_loss = 0.0, champion_loss = 0.0;

  // Every field, by the name and in the order of the twin.
  template <class Visit>
  static void each_field(Visit visit) {
    visit("other", &Serving::other);
    visit("share", &Serving::share);
    visit("max_distance", &Serving::max_distance);
    visit("served_loss", &Serving::served_loss);
    visit("champion_loss", &Serving::champion_loss);
  }

  bool blends() const { return other != kNoChallenger; }
  double served(double champion, double challenger) const noexcept;
};

// Inline: they run for every challenger of every example.
inline void BlendGain::add(double none_loss, double half_loss, double whole_loss, double distance,
                           double decay) noexcept {
  const double square = distance * distance;
  if (!std::isfinite(none_loss + half_loss + whole_loss + square)) return;
  ++n;
  none = none * decay + none_loss;
  half = half * decay + half_loss;
  whole = whole * decay + whole_loss;
  const double saved = none_loss - half_loss;
  squares = squares * (decay * decay) + saved * saved;
  const double share = std::max(1.0 / static_cast<double>(n), 1.0 - decay);
  square_distance += share * (square - square_distance);
}

inline double BlendGain::gain(double share, double errors) const noexcept {
  const double bend = 2.0 * (whole - 2.0 * half + none);
  const double slope = 4.0 * half - 3.0 * none - whole;
  const double error = 2.0 * share * std::sqrt(squares);
  return -(slope * share + bend * share * share) - errors * error;
}

inline double Serving::served(double champion, double challenger) const noexcept {
  const double distance = challenger - champion;
  if (std::isnan(distance)) return champion;
  return champion + share * std::min(std::max(distance, -max_distance), max_distance);
}

}  // namespace chacha
