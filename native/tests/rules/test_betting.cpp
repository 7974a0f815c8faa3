// Paired evidence: the odds grow with gains, and with nothing else.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "rules/contest.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A new pairing as src/chacha/rules/contest/betting.py makes it: half of the reserve is at stake.
Pairing begun() {
  Pairing pairing;
  pairing.number = 1;
  pairing.needed = 100.0;
  pairing.reserve = pairing.wealth = pairing.against = 0.5;
  return pairing;
}

double odds(const Pairing& pairing) { return pairing.wealth + pairing.reserve; }
double odds_against(const Pairing& pairing) { return pairing.against + pairing.reserve; }

// One bet per example, clipped once.
PairedBetting single() {
  PairedBetting rules;
  rules.block = 1;
  rules.clip = rules.block_clip = 3.0;
  rules.warm_up = 10;
  return rules;
}

PairedBetting bernstein() {
  PairedBetting rules = single();
  rules.bernstein = true;
  return rules;
}

PairedBetting blocks() {
  PairedBetting rules;
  rules.block = 10;
  rules.clip = 3.0;
  rules.block_clip = 0.5;
  rules.warm_up = 2;
  return rules;
}

// The state of the evidence, without counts and sums that are only reported.
std::string stakes(const Pairing& p) {
  return print("%a %a %a %a %lld %a %a %lld %lld %a %a %lld", p.reserve, p.wealth, p.against,
               p.scale, static_cast<long long>(p.blocks), p.block_gain, p.block_harm,
               static_cast<long long>(p.block_n), static_cast<long long>(p.blocks_since_restart),
               p.total, p.squares, static_cast<long long>(p.clips));
}

// The mean payoff over g = low with probability p, else high.
double mean_payoff(const PairedBetting& rules, double bet, double mean, double low, double high,
                   double p) {
  return p * rules.payoff(bet, low, mean) + (1.0 - p) * rules.payoff(bet, high, mean);
}

}  // namespace

TEST(odds_grow_with_gains) {
  Pairing pairing = begun();
  const PairedBetting rules = single();
  double before = 0.0;
  for (int i = 0; i < 60; ++i) {
    pairing.add(1.0, 0.7, 1.0, 1.0, rules);
    CHECK(odds(pairing) > before || i < 10);
    before = odds(pairing);
  }
  CHECK_EQ(pairing.n, 60);
  CHECK_EQ(std::lround(odds(pairing)), 35);
  CHECK_EQ(odds_against(pairing), 1.0);
  Pairing slower = begun();
  for (int i = 0; i < 60; ++i) slower.add(1.0, 0.7, 1.0, 1.0, bernstein());
  CHECK_EQ(std::lround(odds(slower)), 5);
}

TEST(odds_against_grow_with_harm) {
  for (const PairedBetting& rules : {single(), bernstein(), blocks()}) {
    Pairing pairing = begun();
    for (int i = 0; i < 200; ++i) pairing.add(1.0, 1.3, 1.0, 1.0, rules);
    CHECK(odds_against(pairing) > rules.eliminates);
    CHECK_EQ(odds(pairing), 1.0);
  }
}

TEST(what_is_not_bet_stays) {
  const PairedBetting rules = single();
  Pairing pairing = begun();
  for (int i = 0; i < 10; ++i) pairing.add(1.0, 0.1, 1.0, 1.0, rules);  // looked at first
  CHECK(pairing.wealth == 0.5 && pairing.against == 0.5);
  CHECK_EQ(pairing.blocks_since_restart, 10);
  pairing.add(1.0, 0.1, 1.0, 1.0, rules);
  CHECK(pairing.wealth > 0.5);
  CHECK_EQ(pairing.against, 0.5);
  CHECK_EQ(pairing.reserve, 0.5);  // it never is at stake

  PairedBetting even = rules;
  even.margin = 0.0;
  Pairing same = begun();
  for (int i = 0; i < 100; ++i) same.add(1.0, 1.0, 1.0, 1.0, even);  // a mean of 0 is on no side
  CHECK(same.wealth == 0.5 && same.against == 0.5);
}

TEST(a_block_is_one_bet) {
  const PairedBetting rules = blocks();
  Pairing pairing = begun();
  for (int i = 1; i <= 60; ++i) {
    const double before = odds(pairing);
    pairing.add(1.0, 0.7, 1.0, 1.0, rules);
    CHECK_EQ(pairing.block_n, i % 10);
    CHECK_EQ(pairing.blocks_since_restart, i / 10);
    CHECK_EQ(odds(pairing) > before, i % 10 == 0 && i > 20);  // two blocks are only looked at
  }
  CHECK_EQ(pairing.blocks, 6);
  CHECK_EQ(pairing.clips, 0);
  CHECK(std::fabs(pairing.total - 6.0 * 0.295 / 0.5) <
        1e-12);  // 0.3 less the margin, of the wider clip
}

TEST(the_mean_of_a_block_is_clipped_too) {
  PairedBetting rules = blocks();
  rules.margin = 0.0;
  Pairing pairing = begun();
  for (int i = 0; i < 10; ++i)
    pairing.add(2.0, 0.0, 1.0, 1.0, rules);  // four times the clip of a block
  CHECK_EQ(pairing.total, 1.0);
  CHECK_EQ(pairing.clips, 0);
  for (int i = 0; i < 10; ++i) pairing.add(i == 0 ? 100.0 : 1.0, 1.0, 1.0, 1.0, rules);  // 3 of 10
  CHECK_EQ(pairing.clips, 1);
  CHECK(std::fabs(pairing.total - 1.6) < 1e-12);
  CHECK_EQ(pairing.block_gain, 0.0);
}

TEST(a_margin_is_not_harm) {
  PairedBetting rules = single();
  rules.margin = 0.1;
  Pairing pairing = begun();
  for (int i = 0; i < 500; ++i) pairing.add(1.0, 1.0, 1.0, 1.0, rules);  // no better, and no worse
  CHECK_EQ(odds(pairing), 1.0);
  CHECK_EQ(odds_against(pairing), 1.0);
}

TEST(the_scale_freezes) {
  const PairedBetting rules = single();
  Pairing pairing = begun();
  pairing.add(1.0, 0.5, 1.0, 0.0, rules);  // nothing is known of the champion yet
  CHECK_EQ(pairing.scale, 0.0);
  CHECK_EQ(pairing.blocks_since_restart, 0);
  CHECK_EQ(pairing.n, 1);
  pairing.add(1.0, 0.5, 1.0, 2.0, rules);
  CHECK_EQ(pairing.scale, rules.clip * 2.0);
  for (const double level : {0.0, 1e9, kNan, 1e-9}) pairing.add(1.0, 0.5, 1.0, level, rules);
  CHECK_EQ(pairing.scale, rules.clip * 2.0);
  pairing.scale = 0.0;  // it starts over
  pairing.add(1.0, 0.5, 1.0, 4.0, rules);
  CHECK_EQ(pairing.scale, rules.clip * 4.0);
}

TEST(clips_are_counted) {
  PairedBetting rules = single();
  rules.margin = 0.0;
  Pairing pairing = begun();
  pairing.add(3.0, 0.0, 1.0, 1.0, rules);  // just the scale
  CHECK_EQ(pairing.clips, 0);
  pairing.add(3.1, 0.0, 1.0, 1.0, rules);
  pairing.add(0.0, 3.1, 1.0, 1.0, rules);
  pairing.add(0.0, 1.1, 3.0, 1.0, rules);  // by its weight
  CHECK_EQ(pairing.clips, 3);
  CHECK_EQ(pairing.total, 1.0 + 1.0 - 1.0 - 1.0);
  CHECK_EQ(pairing.squares, 4.0);
  CHECK_EQ(pairing.champion_loss, 3.0 + 3.1);  // sums are not clipped
}

TEST(losses_that_are_not_numbers_are_not_evidence) {
  for (const PairedBetting& rules : {single(), bernstein(), blocks()}) {
    Pairing pairing = begun();
    for (int i = 0; i < 30; ++i) pairing.add(1.0, 0.7, 1.0, 1.0, rules);
    const std::string before = stakes(pairing);
    pairing.add(kNan, 0.5, 1.0, 1.0, rules);
    pairing.add(1.0, kNan, 1.0, 1.0, rules);
    pairing.add(kNan, kNan, 1.0, 1.0, rules);
    pairing.add(kInfinite, kInfinite, 1.0, 1.0, rules);
    CHECK_EQ(stakes(pairing), before);
    CHECK_EQ(pairing.n, 34);
    pairing.add(kInfinite, 0.5, 1.0, 1.0, rules);  // as good as can be
    pairing.add(1.0, kInfinite, 1.0, 1.0, rules);  // as bad as can be
    CHECK_EQ(pairing.clips, 2);
    CHECK(std::isfinite(odds(pairing)) && std::isfinite(odds_against(pairing)));
  }
}

TEST(odds_never_fall_below_nothing) {
  PairedBetting rules = single();
  rules.most = 0.999;
  Rng rng(60);
  Pairing pairing = begun();
  for (int i = 0; i < 20000; ++i) {
    const bool good = rng.chance(2);
    pairing.add(1.0, good ? 0.0 : 2.0, 1.0, 0.1, rules);
    CHECK(pairing.wealth >= 0.0 && pairing.against >= 0.0);
    CHECK(std::isfinite(pairing.wealth) && std::isfinite(pairing.against));
  }
  CHECK(odds(pairing) >= 0.5 && odds_against(pairing) >= 0.5);  // the reserve is left
}

TEST(a_bet_is_a_share) {
  for (const PairedBetting& rules : {single(), bernstein()}) {
    for (double mean = -1.0; mean <= 1.0; mean += 0.05) {
      for (double variance = 1e-4; variance < 1.0; variance *= 2.0) {
        const double bet = rules.bet(mean, variance);
        CHECK(bet >= 0.0 && bet <= rules.most);
        CHECK_EQ(bet, rules.bet(-mean, variance));
        for (double g = -1.0; g <= 1.0; g += 0.1)
          CHECK(rules.payoff(bet, g, std::fabs(mean)) > 0.0);
      }
    }
  }
}

// No bet has a positive mean payoff if g is low or high with a mean of at most 0.
TEST(nothing_is_won_on_average_by_nothing) {
  for (const PairedBetting& rules : {single(), bernstein()}) {
    for (double bet = 0.0; bet < 0.99; bet += 0.09) {
      for (double mean = 0.0; mean <= 1.0; mean += 0.1) {
        for (double low = -1.0; low < 0.0; low += 0.1) {
          for (double high = 0.0; high <= 1.0; high += 0.1) {
            const double least = high / (high - low);  // then E[g] is 0
            for (const double p : {least, 0.5 * (1.0 + least), 1.0}) {
              CHECK(mean_payoff(rules, bet, mean, low, high, p) <= 1.0 + 1e-12);
            }
          }
        }
      }
    }
  }
}

// exp(λ·g/2 - ψ·((g - m)/2)²) <= exp(λ·m/2)·(1 + λ·(g - m)/2), point by point.
TEST(the_bernstein_payoff_stays_below_its_bound) {
  const PairedBetting rules = bernstein();
  for (double bet = 0.0; bet < 0.99; bet += 0.03) {
    for (double mean = -1.0; mean <= 1.0; mean += 0.05) {
      for (double g = -1.0; g <= 1.0; g += 0.05) {
        const double bound = std::exp(bet * mean * 0.5) * (1.0 + bet * (g - mean) * 0.5);
        CHECK(rules.payoff(bet, g, mean) <= bound + 1e-12);
        if (mean <= 0.0 && g >= 0.0)
          CHECK(rules.payoff(bet, g, 0.0) <= 1.0 + bet * g * 0.5 + 1e-12);
      }
    }
  }
}

// A coin removes a real difference: over many challengers few reach odds of 1/0.05.
TEST(a_coin_makes_challengers_equal) {
  PairedBetting rules = single();
  rules.margin = 0.0;
  rules.coin = true;
  rules.seed = 5;
  int promoted = 0;
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    Pairing pairing = begun();
    pairing.number = run;
    bool reached = false;
    for (int i = 0; i < 500; ++i) {
      pairing.add(1.0, 0.5, 1.0, 1.0, rules);
      reached |= odds(pairing) >= 20.0;
    }
    promoted += reached ? 1 : 0;
  }
  CHECK(promoted <= kRuns / 20);
}

TEST(coins_are_those_of_python) {
  PairedBetting rules;
  rules.seed = 1;
  rules.coin_block = 10;
  const std::pair<std::int64_t, double> known[] = {{0, 1.0},  {9, 1.0},  {10, 1.0},
                                                   {20, 1.0}, {30, 1.0}, {40, -1.0}};
  for (const auto& [n, sign] : known) CHECK_EQ(rules.sign(1, n), sign);
  double sum = 0.0;
  for (std::int64_t n = 0; n < 20000; ++n) {
    const double sign = rules.sign(3, n);
    CHECK(sign == 1.0 || sign == -1.0);
    CHECK_EQ(sign, rules.sign(3, n / 10 * 10));  // a block has one side
    sum += sign;
  }
  CHECK(std::fabs(sum) < 2000.0);
}

// A custom payoff that repeats the test; the size of the bet and the side are its decision.
TEST(a_custom_payoff_that_repeats_a_test_gives_the_same_bits) {
  PairedBetting coin = blocks(), defaults;
  coin.coin = true;
  coin.seed = 3;
  PairedBetting bernstein_of_blocks = blocks();
  bernstein_of_blocks.bernstein = true;
  for (const PairedBetting& rules :
       {defaults, single(), bernstein(), blocks(), bernstein_of_blocks, coin}) {
    std::int64_t bets = 0;
    bool bet_for = false, bet_against = false;
    PairedBetting custom = rules;
    custom.bernstein = !rules.bernstein;  // not asked
    custom.most = 0.01;
    custom.custom = [&](double mean, double variance, double gain, double harm) {
      ++bets;
      const double share = rules.bet(mean, variance);
      return mean > 0.0 ? rules.payoff(share, gain, mean) : rules.payoff(share, harm, -mean);
    };
    for (const double advantage : {0.3, 0.0, -0.3}) {
      Rng rng(61);
      Pairing expected = begun(), pairing = begun();
      bets = 0;
      for (int i = 0; i < 3000; ++i) {
        const double champion = rng.chance(100) ? kInfinite : rng.real() * 2.0;
        const double challenger =
            rng.chance(100) ? kInfinite : rng.real() * 2.0 * (1.0 - advantage);
        const double weight = rng.chance(5) ? 0.5 : 1.0;
        expected.add(champion, challenger, weight, 1.0, rules);
        pairing.add(champion, challenger, weight, 1.0, custom);
        CHECK_EQ(picture_of_fields(pairing), picture_of_fields(expected));
      }
      bet_for |= pairing.wealth != 0.5;
      bet_against |= pairing.against != 0.5;
      CHECK_EQ(bets, pairing.blocks - rules.warm_up);  // one for each block
    }
    CHECK(bet_for && bet_against);
  }
}

TEST(a_custom_payoff_of_one_changes_no_wealth) {
  PairedBetting rules = blocks();
  rules.custom = [](double, double, double, double) { return 1.0; };
  Rng rng(62);
  for (const double advantage : {0.5, 0.0, -0.5}) {
    Pairing pairing = begun(), usual = begun();
    for (int i = 0; i < 2000; ++i) {
      const double champion = rng.real(), challenger = rng.real() * (1.0 - advantage);
      pairing.add(champion, challenger, 1.0, 1.0, rules);
      usual.add(champion, challenger, 1.0, 1.0, blocks());
      CHECK(pairing.wealth == 0.5 && pairing.against == 0.5 && pairing.reserve == 0.5);
    }
    CHECK(odds(usual) != 1.0 || odds_against(usual) != 1.0);
    usual.wealth = usual.against = 0.5;  // all else is as with any other test
    CHECK_EQ(picture_of_fields(pairing), picture_of_fields(usual));
  }
}

TEST(a_custom_payoff_is_given_the_blocks_before_its_own) {
  PairedBetting rules = blocks();
  rules.margin = 0.0;
  std::vector<std::vector<double>> given;
  rules.custom = [&](double mean, double variance, double gain, double harm) {
    given.push_back({mean, variance, gain, harm});
    return 1.0;
  };
  Pairing pairing = begun();
  const double gains[] = {0.25, 0.125, -0.25, 0.5};  // half of the clip of a block, and so on
  for (const double gain : gains) {
    for (int i = 0; i < 10; ++i) pairing.add(1.0, 1.0 - gain, 1.0, 1.0, rules);
  }
  CHECK_EQ(given.size(), std::size_t{2});
  const double expected[2][4] = {{0.375, 0.015625 + 1e-4, -0.5, 0.5},
                                 {0.25 / 3.0, 0.5625 / 3.0 - 0.0625 / 9.0 + 1e-4, 1.0, -1.0}};
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 4; ++k) CHECK(std::fabs(given[i][k] - expected[i][k]) < 1e-12);
  }
}

TEST(a_custom_payoff_that_is_no_odds_loses_the_stake) {
  for (const double payoff : {kNan, -1.0, 0.0, -kInfinite, 1e-250}) {
    PairedBetting rules = single();
    rules.custom = [payoff](double, double, double, double) { return payoff; };
    Pairing pairing = begun(), worse = begun();
    for (int i = 0; i < 20; ++i) {
      pairing.add(1.0, 0.5, 1.0, 1.0, rules);
      worse.add(1.0, 1.5, 1.0, 1.0, rules);
    }
    CHECK(pairing.wealth == 0.0 && pairing.against == 0.5 && pairing.reserve == 0.5);
    CHECK(worse.wealth == 0.5 && worse.against == 0.0 && worse.reserve == 0.5);
  }
}
