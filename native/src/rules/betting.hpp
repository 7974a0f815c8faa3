// Paired evidence: a challenger against the champion, on the same examples.
// Twin: src/chacha/rules/contest/betting.py; expressions keep its order, so the bits are the same.
#pragma once

#include <cstdint>
#include <functional>

namespace chacha {

// Twin: PairedBetting, PairedBernstein and Coin.
struct PairedBetting {
  double margin = 0.005;
  std::int64_t block = 10;
  double clip = 3.0;
  double block_clip = 0.5;
  double most = 0.9;
  double eliminates = 20.0;
  std::int64_t patience = 500;
  std::int64_t warm_up = 2;
  bool bernstein = false;
  bool coin = false;  // whether a coin turns the differences
  std::uint64_t seed = 0;
  std::int64_t coin_block = 1;
  // A custom test: the payoff of a block, given the mean and the variance of the blocks before it,
  // and its gain and harm. Must not throw. If empty, the test is one of the two above.
  std::function<double(double mean, double variance, double gain, double harm)> custom;

  double sign(std::uint64_t k, std::int64_t n) const;
  double bet(double mean, double variance) const;
  double payoff(double bet, double g, double mean) const;
  // What one unit at stake for the side of the mean becomes.
  double payoff_of_block(double mean, double variance, double gain, double harm) const;
};

// The evidence for and against one challenger.
struct Pairing {
  std::int64_t number = 0;
  double needed = 0.0;  // odds that promote it
  std::int64_t n = 0;
  double reserve = 1.0, wealth = 0.0, against = 0.0;
  double scale = 0.0;
  std::int64_t blocks = 0, block_n = 0;
  double block_gain = 0.0, block_harm = 0.0;
  std::int64_t blocks_since_restart = 0;
  double total = 0.0, squares = 0.0;
  std::int64_t clips = 0;
  double champion_loss = 0.0, loss = 0.0;
  double odds_before = 1.0;  // when the current lease began

  // Every field, by the name and in the order of the twin.
  template <class Visit>
  static void each_field(Visit visit) {
    visit("number", &Pairing::number);
    visit("needed", &Pairing::needed);
    visit("n", &Pairing::n);
    visit("reserve", &Pairing::reserve);
    visit("wealth", &Pairing::wealth);
    visit("against", &Pairing::against);
    visit("scale", &Pairing::scale);
    visit("blocks", &Pairing::blocks);
    visit("block_n", &Pairing::block_n);
    visit("block_gain", &Pairing::block_gain);
    visit("block_harm", &Pairing::block_harm);
    visit("blocks_since_restart", &Pairing::blocks_since_restart);
    visit("total", &Pairing::total);
    visit("squares", &Pairing::squares);
    visit("clips", &Pairing::clips);
    visit("champion_loss", &Pairing::champion_loss);
    visit("loss", &Pairing::loss);
    visit("odds_before", &Pairing::odds_before);
  }

  double reached() const { return (wealth + reserve) / needed; }
  double odds_against() const { return against + reserve; }

  void add(double champion, double challenger, double weight, double level,
           const PairedBetting& rules) noexcept;

 private:
  void bet(const PairedBetting& rules) noexcept;  // on the mean of a full block
};

}  // namespace chacha
