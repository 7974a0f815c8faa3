// Surprise: losses are suddenly unlike what they used to be.
// Twin: src/chacha/rules/contest/surprise.py; expressions keep its order, so the bits are the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace chacha {

struct Surprise {
  static constexpr double kLong = 2000.0, kShort = 32.0, kCut = 8.0;
  static constexpr double kSmall = 1.0 / 16.0;
  static constexpr std::int64_t kLeast = 200, kChecked = 128;
  static constexpr std::int64_t kNever = std::int64_t{1} << 62;

  double usual = 0.0, recent = 0.0;            // losses of the champion
  double usual_step = 0.0, recent_step = 0.0;  // of predicting the label before,
  std::int64_t steps = 0;                      // where it was not the same
  std::int64_t since = 0;                      // examples since a change was noticed;
  double total = 0.0, largest = 0.0;           // the champion's losses on them
  std::int64_t steps_since = 0;                // likewise
  double total_step = 0.0, largest_step = 0.0;
  std::int64_t calm = 0;          // the example until which no change is looked for,
  std::int64_t stays = 0;         // and until which the usual losses stay
  std::int64_t settles = kNever;  // that after which the level is found again,
  std::int64_t again = kNever;    // and that after which a second model is started anew
  // What follows changes only with decisions.
  std::int64_t noticed = -1000, changes = 0, anew = 0;
  std::int64_t checks = kChecked;  // the example after which the scale of labels is looked at
  double large = 3.0;              // usual losses above which the recent ones are a surprise

  // Every field, by the name and in the order of the twin.
  template <class Visit>
  static void each_field(Visit visit) {
    visit("usual", &Surprise::usual);
    visit("recent", &Surprise::recent);
    visit("usual_step", &Surprise::usual_step);
    visit("recent_step", &Surprise::recent_step);
    visit("steps", &Surprise::steps);
    visit("since", &Surprise::since);
    visit("total", &Surprise::total);
    visit("largest", &Surprise::largest);
    visit("steps_since", &Surprise::steps_since);
    visit("total_step", &Surprise::total_step);
    visit("largest_step", &Surprise::largest_step);
    visit("calm", &Surprise::calm);
    visit("stays", &Surprise::stays);
    visit("settles", &Surprise::settles);
    visit("again", &Surprise::again);
    visit("noticed", &Surprise::noticed);
    visit("changes", &Surprise::changes);
    visit("anew", &Surprise::anew);
    visit("checks", &Surprise::checks);
    visit("large", &Surprise::large);
  }

  // Adds the champion's loss on example `t`, the `charged`-th, and that of the label before as the
  // prediction. The first is finite; the second is not a number if there is none. After a surprise
  // the usual losses stay until the next one may be noticed: then a change in between is.
  void add(double loss, double step, std::int64_t charged, std::int64_t t) noexcept {
    add_cut(loss, charged, t < stays, usual, recent);
    if (std::isfinite(step) && step > 0.0) {
      add_cut(step, ++steps, t < stays, usual_step, recent_step);
      ++steps_since;
      total_step += step;
      largest_step = std::max(largest_step, step);
    }
    ++since;
    total += loss;
    largest = std::max(largest, loss);
  }
  bool is_due(std::int64_t charged, std::int64_t t) const noexcept {
    return is_surprised(charged, t) || t >= settles || t >= again || t >= checks;
  }
  bool is_surprised(std::int64_t charged, std::int64_t t) const noexcept {
    if (charged < kLeast || t < calm) return false;
    const bool larger = usual > 0.0 && recent > large * usual;
    return larger || (usual_step > 0.0 && recent_step < kSmall * usual_step);
  }
  void begin_again() noexcept {
    usual = recent = total = largest = total_step = largest_step = 0.0;
    since = steps_since = 0;
  }

 private:
  static void add_cut(double loss, std::int64_t n, bool stays, double& usual,
                      double& recent) noexcept {
    const double share = 1.0 / static_cast<double>(n);
    const double cut = usual > 0.0 ? std::min(loss, kCut * usual) : loss;
    if (!stays) usual += std::max(share, 1.0 / kLong) * (cut - usual);
    recent += std::max(share, 1.0 / kShort) * (cut - recent);
  }
};

}  // namespace chacha
