// The contest: live challengers against the champion, and which of them is blended in.
// Twin: src/chacha/rules/contest/contest.py; expressions keep its order, so the bits are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rules/betting.hpp"
#include "rules/blending.hpp"
#include "rules/surprise.hpp"

namespace chacha {

struct Challenger {
  std::uint32_t model;
  std::int64_t lease;
  Pairing pairing;
  BlendGain blend_gain;
};

// The part of the state of a contest that changes with every example. The rest, such as what is
// tried next, stays with the twin.
struct ContestState {
  std::uint32_t champion = 0;  // model
  std::int64_t charged = 0;    // examples that the champion was charged for
  double level = 0.0;          // the champion's usual loss
  Surprise surprise;
  bool decide_anyway = false;  // a decision is due after the next example, in any case
  Serving serving;
  std::vector<Challenger> challengers;

  // The challenger that is blended in; there must be one.
  const Challenger& other() const { return challengers[static_cast<std::size_t>(serving.other)]; }
};

// What a challenger lost on an example. The rules see losses, never labels.
struct ChallengerLosses {
  bool predicted = false;  // whether it predicted the example; if not, it is not charged
  double loss = 0.0;
  double half = 0.0;      // of the mean of its and the champion's prediction
  double distance = 0.0;  // of its prediction from the champion's
};

class Contest {
 public:
  void set_rules(PairedBetting rules, const Blending& blending) noexcept {
    rules_ = std::move(rules);
    blending_ = blending;
  }
  void set_state(ContestState state);
  const ContestState& state() const { return state_; }
  // Forget all that was charged, as if no challenger had an example.
  void begin_again() noexcept;
  // The model was stopped; another may get its number.
  void forget(std::uint32_t model);
  // Whether there is a champion, and no model was stopped since it was set.
  bool complete() const { return complete_; }
  std::size_t live() const { return state_.challengers.size() + 1; }
  // Whether the next example may fill a block, which is when a test is called.
  bool block_ends() const;

  // One example: the losses of every challenger, then charge.
  ChallengerLosses& losses(std::size_t challenger) { return losses_[challenger]; }
  // `step_loss`: of the label before as the prediction; not a number if there is none.
  void charge(double champion_loss, double served_loss, double step_loss, double weight,
              std::int64_t t) noexcept;
  // Whether a decision is due after example `t`. If not, the blend for the next one is chosen.
  bool decide(std::int64_t t) noexcept;

 private:
  void choose_blend() noexcept;

  PairedBetting rules_;
  Blending blending_;
  ContestState state_;
  bool complete_ = false;
  std::vector<ChallengerLosses> losses_;  // by challenger, of the current example
};

}  // namespace chacha
