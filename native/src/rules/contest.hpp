// The contest: paired evidence of live challengers against the champion, and who serves.
// Expressions keep the order of chacha/rules/contest/betting.py and chacha/rules/contest/blending.py, so the bits are the same.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/bounds.hpp"

namespace chacha {

struct PairedRules {
  double margin = 0.005;
  std::int64_t block = 10;
  double clip = 3.0;
  double block_clip = 0.5;
  double most = 0.9;
  double eliminates = 20.0;
  std::int64_t patience = 500;
  std::int64_t warm_up = 2;
  bool bernstein = false;
  bool coin = false;  // turns the differences
  std::uint64_t seed = 0;
  std::int64_t coin_block = 1;

  double sign(std::uint64_t k, std::int64_t n) const;
  double bet(double mean, double variance) const;
  double payoff(double bet, double g, double mean) const;
};

// The evidence of one challenger.
struct Pairing {
  std::int64_t number = 0;
  double needed = 0.0;
  std::int64_t n = 0;
  double reserve = 1.0, wealth = 0.0, against = 0.0;
  double scale = 0.0;
  std::int64_t blocks = 0, parts = 0;
  double part = 0.0, part_harm = 0.0;
  std::int64_t seen = 0;
  double total = 0.0, squares = 0.0;
  std::int64_t clips = 0;
  double champion_loss = 0.0, loss = 0.0;

  void add(double champion, double own, double weight, double level, const PairedRules& rules) noexcept;
  void bet(const PairedRules& rules) noexcept;  // a block is full
};

struct BlendRules {
  std::int64_t burn_in = 100;
  std::int64_t early = 2;  // as long as the champion has had no more than burn_in
  double decay = 0.999;
  double noise = 0.5;
  double wild = 3.0;
  double harm = 0.005;
  bool champion_only = false;
};

// What blending in one challenger would have brought.
struct Helping {
  std::int64_t n = 0;
  double none = 0.0, half = 0.0, whole = 0.0, noise = 0.0, apart = 0.0;

  void add(double none_, double half_, double whole_, double distance, double decay) noexcept;
  double gain(double share, double errors) const noexcept;
};

struct Challenger {
  std::uint32_t model;
  std::int64_t lease;
  Pairing pairing;
  Helping helping;
};

// Who serves: the champion, and `share` of the way to another; nobody else: kNobody.
struct Serving {
  static constexpr std::uint32_t kNobody = 0xffffffffU;
  std::uint32_t other = kNobody;  // its place among the challengers
  double share = 0.0;
  double most = 0.0;  // how far it may lead away
  double lost = 0.0, champion_lost = 0.0;

  double served(double champion, double prediction) const noexcept;
};

class Contest {
 public:
  void set_rules(const PairedRules& rules, const BlendRules& blending) {
    rules_ = rules;
    blending_ = blending;
  }
  void line_up(std::uint32_t champion, std::vector<Challenger> challengers, const Serving& serving, double level,
               std::int64_t charged, bool restless);
  // The model is no more; its number may become another's.
  void forget(std::uint32_t model);
  bool whole() const { return whole_; }

  std::uint32_t champion() const { return champion_; }
  std::size_t live() const { return challengers_.size() + 1; }
  const std::vector<Challenger>& challengers() const { return challengers_; }
  const Serving& serving() const { return serving_; }
  double level() const { return level_; }
  std::int64_t charged() const { return charged_; }

  // What one of them predicted. To be told for everyone who did, then `charge`.
  void begin_round() noexcept;
  void predicted(std::uint32_t model, double raw) noexcept;
  bool champion_predicted() const { return champion_known_; }
  double champion_raw() const { return champion_raw_; }
  void charge(const ServedLoss& loss, double served, double y, double weight) noexcept;
  // Whether something is to be decided; if not, who serves next is chosen.
  bool decide() noexcept;

 private:
  void choose() noexcept;

  PairedRules rules_;
  BlendRules blending_;
  std::uint32_t champion_ = 0;
  std::vector<Challenger> challengers_;
  Serving serving_;
  double level_ = 0.0;
  std::int64_t charged_ = 0;
  bool restless_ = false;
  bool whole_ = false;  // until somebody has lined up
  double champion_raw_ = 0.0;
  bool champion_known_ = false;
  std::vector<double> raw_;
  std::vector<char> known_;
};

}  // namespace chacha
