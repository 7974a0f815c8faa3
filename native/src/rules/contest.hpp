// The contest: live challengers against the champion, and which of them is blended in.
// Twin: src/chacha/rules/contest/contest.py; expressions keep its order, so the bits are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rules/betting.hpp"
#include "rules/blending.hpp"
#include "rules/served_loss.hpp"

namespace chacha {

struct Challenger {
  std::uint32_t model;
  std::int64_t lease;
  Pairing pairing;
  BlendGain blend_gain;
};

class Contest {
 public:
  void set_rules(const PairedBetting& rules, const Blending& blending) {
    rules_ = rules;
    blending_ = blending;
  }
  // `decide_anyway`: a decision is due after the next example, whether or not a test fires.
  void set_state(std::uint32_t champion, std::vector<Challenger> challengers,
                 const Serving& serving, double level, std::int64_t charged, bool decide_anyway);
  // The model was stopped; another may get its number.
  void forget(std::uint32_t model);
  // Whether there is a champion, and no model was stopped since it was set.
  bool complete() const { return complete_; }

  std::uint32_t champion() const { return champion_; }
  std::size_t live() const { return challengers_.size() + 1; }
  const std::vector<Challenger>& challengers() const { return challengers_; }
  const Serving& serving() const { return serving_; }
  double level() const { return level_; }
  std::int64_t charged() const { return charged_; }

  // One example: begin_round, then predicted for every model that predicted it, then charge.
  void begin_round() noexcept;
  void predicted(std::uint32_t model, double raw) noexcept;
  bool champion_predicted() const { return champion_predicted_; }
  double champion_raw() const { return champion_raw_; }
  void charge(const ServedLoss& loss, double served, double y, double weight) noexcept;
  // Whether a decision is due. If not, the blend for the next example is chosen.
  bool decide() noexcept;

 private:
  void choose_blend() noexcept;

  PairedBetting rules_;
  Blending blending_;
  std::uint32_t champion_ = 0;
  std::vector<Challenger> challengers_;
  Serving serving_;
  double level_ = 0.0;  // the champion's usual loss
  std::int64_t charged_ = 0;
  bool decide_anyway_ = false;
  bool complete_ = false;
  double champion_raw_ = 0.0;
  bool champion_predicted_ = false;
  std::vector<double> raw_;      // by challenger
  std::vector<char> predicted_;  // by challenger: whether it predicted the current example
};

}  // namespace chacha
