// The contest: which challenger is blended in, and when a decision is due.
#include <cmath>

#include "rules/contest.hpp"
#include "support/challengers.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

// A champion with the number 7, and challengers with 8, 9, ...
struct Ring {
  Contest contest;

  explicit Ring(std::size_t challengers, std::int64_t lease = kNever, bool decide_anyway = false,
                const PairedBetting& rules = {}, const Blending& blending = {}) {
    contest.set_rules(rules, blending);
    std::vector<Challenger> all;
    for (std::uint32_t i = 0; i < challengers; ++i) all.push_back(challenger(8 + i, lease));
    ContestState state = contest_of(7, std::move(all));
    state.decide_anyway = decide_anyway;
    contest.set_state(std::move(state));
  }
  // One example of label y: the predictions of the champion and the challengers.
  bool round(const std::vector<double>& raw, double y, double weight = 1.0) {
    charge(contest, kSquare, raw, served(raw), y, weight);
    return contest.decide(0);
  }
  double served(const std::vector<double>& raw) const {
    const Serving& serving = contest.state().serving;
    if (!serving.blends()) return raw[0];
    return serving.served(raw[0], raw[static_cast<std::size_t>(serving.other) + 1]);
  }
};

}  // namespace

TEST(who_helps_is_blended_in) {
  Ring ring(2);
  int first = 0;
  for (int i = 1; i <= 120; ++i) {
    const double turn =
        i % 2 == 0 ? 1.0 : -1.0;  // the champion and the second err to opposite sides
    ring.round({turn, 3.0 * turn, -turn}, 0.0);
    const Serving& serving = ring.contest.state().serving;
    if (serving.other == Serving::kNoChallenger) continue;
    if (first == 0) first = i;
    CHECK_EQ(serving.other, 1);
    CHECK_EQ(serving.share, 0.5);
    CHECK(std::fabs(serving.max_distance - 3.0 * 2.0) < 1e-9);
    CHECK_EQ(ring.served({1.0, 3.0, -1.0}), 0.0);
  }
  CHECK_EQ(first, 2);  // in the beginning: none is known to be better
  CHECK(ring.contest.state().serving.served_loss < ring.contest.state().serving.champion_loss);
}

TEST(a_challenger_that_serves_alone_has_a_share_of_one) {
  PairedBetting unmoved;
  unmoved.warm_up = 1000;  // no challenger is promoted
  Ring ring(1, kNever, false, unmoved);
  for (int i = 0; i < 110; ++i) ring.round({1.0, 0.0}, 0.0);
  CHECK_EQ(ring.contest.state().serving.other, 0);
  CHECK_EQ(ring.contest.state().serving.share, 1.0);
}

TEST(blending_ends_where_it_harms) {
  Blending blending;
  blending.burn_in = blending.early = 10;
  Ring ring(1, kNever, false, {}, blending);
  for (int i = 0; i < 40; ++i) ring.round({i % 2 == 0 ? 1.0 : -1.0, i % 2 == 0 ? -1.0 : 1.0}, 0.0);
  CHECK_EQ(ring.contest.state().serving.other, 0);
  bool alone = false;
  for (int i = 0; i < 60 && !alone; ++i) {
    ring.round({0.5, 3.0}, 0.5);
    alone = ring.contest.state().serving.other == Serving::kNoChallenger;
  }
  CHECK(alone);
  Blending never = blending;
  never.champion_only = true;
  Ring other(1, kNever, false, {}, never);
  for (int i = 0; i < 40; ++i) other.round({i % 2 == 0 ? 1.0 : -1.0, i % 2 == 0 ? -1.0 : 1.0}, 0.0);
  CHECK_EQ(other.contest.state().serving.other, Serving::kNoChallenger);
}

TEST(needed_odds_are_an_event) {
  Ring ring(2);
  int steps = 0;
  while (!ring.round({1.0, 1.0, std::sqrt(0.3)}, 0.0)) CHECK(++steps < 1000);
  const auto& all = ring.contest.state().challengers;
  CHECK(all[1].pairing.wealth + all[1].pairing.reserve >= all[1].pairing.needed);
  CHECK(all[0].pairing.wealth + all[0].pairing.reserve < all[0].pairing.needed);
}

TEST(worse_challengers_are_an_event_after_some_patience) {
  PairedBetting rules;
  rules.patience = 300;
  Ring ring(1, kNever, false, rules);
  int steps = 1;
  bool overdue = false;
  while (!ring.round({1.0, 1.4}, 0.0)) {
    CHECK(++steps < 1000);
    const Pairing& pairing = ring.contest.state().challengers[0].pairing;
    overdue |= pairing.against + pairing.reserve >= rules.eliminates;
  }
  CHECK_EQ(steps, 300);
  CHECK(overdue);  // the odds were there before
}

TEST(an_ended_lease_is_an_event) {
  Ring ring(2, 25);
  for (int i = 1; i < 25; ++i) CHECK(!ring.round({1.0, 1.0, 1.0}, 0.0));
  CHECK(ring.round({1.0, 1.0, 1.0}, 0.0));
  Ring quiet(1, 3);
  for (int i = 0; i < 10; ++i) {
    // The challenger has made no forecast, and is not charged.
    charge(quiet.contest, kSquare, {1.0}, 1.0, 0.0, 1.0);
    CHECK(!quiet.contest.decide(0));
  }
  CHECK_EQ(quiet.contest.state().challengers[0].pairing.n, 0);
  CHECK_EQ(quiet.contest.state().charged, 10);
}

TEST(a_contest_that_decides_anyway_is_always_due) {
  Ring ring(1, kNever, true);
  for (int i = 0; i < 5; ++i) CHECK(ring.round({1.0, 1.0}, 0.0));
  ring.contest.set_state({7, 5, 1.0, {}, false, {}, {challenger(8)}});
  CHECK(!ring.round({1.0, 1.0}, 0.0));
}

TEST(an_event_leaves_who_serves_as_it_is) {
  Ring ring(1, 150);
  for (int i = 0; i < 149; ++i) ring.round({i % 2 == 0 ? 1.0 : -1.0, i % 2 == 0 ? -1.0 : 1.0}, 0.0);
  CHECK_EQ(ring.contest.state().serving.share, 0.5);
  for (int i = 0; i < 20; ++i) CHECK(ring.round({0.0, 9.0}, 0.0));  // Python decides, and chooses
  CHECK_EQ(ring.contest.state().serving.share, 0.5);
}

TEST(a_forgotten_challenger_makes_a_contest_incomplete) {
  for (const std::uint32_t model : {7U, 8U, 9U}) {
    Ring ring(2);
    ring.contest.forget(3);  // not in the ring
    CHECK(ring.contest.complete());
    ring.contest.forget(model);
    CHECK(!ring.contest.complete());
    ring.contest.set_state(contest_of(7, {}));
    CHECK(ring.contest.complete());
    CHECK_EQ(ring.contest.live(), std::size_t{1});
  }
}

TEST(the_level_is_a_mean_with_a_memory) {
  Ring ring(0);
  for (int i = 0; i < 100; ++i) ring.round({2.0}, 0.0, 0.5);
  CHECK(std::fabs(ring.contest.state().level - 2.0) < 1e-12);  // weight times loss
  ring.round({NAN}, 0.0);
  ring.round({1e200}, 0.0);
  CHECK(std::fabs(ring.contest.state().level - 2.0) < 1e-12);
  CHECK_EQ(ring.contest.state().charged, 100);
  for (int i = 0; i < 30000; ++i) ring.round({1.0}, 0.0);
  CHECK(std::fabs(ring.contest.state().level - 1.0) < 1e-3);  // it forgets
}

TEST(who_has_made_no_prediction_is_not_charged) {
  Ring ring(2);
  for (int i = 0; i < 10; ++i) ring.round({1.0, 0.5, 2.0}, 0.0);
  const Challenger before = ring.contest.state().challengers[1];
  for (int i = 0; i < 10; ++i) ring.round({1.0, 0.5}, 0.0);  // the losses of before are left over
  const auto& all = ring.contest.state().challengers;
  CHECK_EQ(all[0].pairing.n, 20);
  CHECK_EQ(all[0].blend_gain.n, 20);
  CHECK_EQ(picture_of_fields(all[1].pairing), picture_of_fields(before.pairing));
  CHECK_EQ(picture_of_fields(all[1].blend_gain), picture_of_fields(before.blend_gain));
}

TEST(a_custom_payoff_promotes_and_eliminates) {
  PairedBetting rules;
  rules.patience = 1;
  rules.custom = [](double, double, double, double) { return 1000.0; };
  for (const double raw : {0.5, 1.5}) {
    Ring ring(1, kNever, false, rules);
    int steps = 1;
    while (!ring.round({1.0, raw}, 0.0) && steps < 100) ++steps;
    CHECK_EQ(steps, 31);  // no level at first, two blocks are only looked at, the third is a bet
    const Pairing& pairing = ring.contest.state().challengers[0].pairing;
    CHECK_EQ(pairing.wealth, raw < 1.0 ? 500.0 : 0.5);
    CHECK_EQ(pairing.against, raw < 1.0 ? 0.5 : 500.0);
  }
}
