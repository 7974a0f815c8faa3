// The contest: who serves, when something is to be decided, and the engine around it.
#include <cmath>
#include <stdexcept>

#include "support/check.hpp"
#include "rules/contest.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

constexpr std::int64_t kNever = std::int64_t{1} << 62;
const ServedLoss kSquare;

Challenger challenger(std::uint32_t model, std::int64_t lease = kNever) {
  Challenger made{model, lease, {}, {}};
  made.pairing.number = 1;
  made.pairing.needed = 41.0;
  made.pairing.reserve = made.pairing.wealth = made.pairing.against = 0.5;
  return made;
}

// A champion of number 7, and challengers of 8, 9, ...
struct Ring {
  Contest contest;

  explicit Ring(std::size_t challengers, std::int64_t lease = kNever, bool decide_anyway = false,
                const PairedRules& rules = {}, const BlendRules& blending = {}) {
    contest.set_rules(rules, blending);
    std::vector<Challenger> all;
    for (std::uint32_t i = 0; i < challengers; ++i) all.push_back(challenger(8 + i, lease));
    contest.set_state(7, std::move(all), {}, 0.0, 0, decide_anyway);
  }
  // One example: what the champion and the challengers predict of y.
  bool round(const std::vector<double>& raw, double y, double weight = 1.0) {
    contest.begin_round();
    for (std::uint32_t i = 0; i < raw.size(); ++i) contest.predicted(7 + i, raw[i]);
    contest.charge(kSquare, served(raw), y, weight);
    return contest.decide();
  }
  double served(const std::vector<double>& raw) const {
    const Serving& serving = contest.serving();
    return serving.other == Serving::kNoChallenger ? raw[0] : serving.served(raw[0], raw[serving.other + 1]);
  }
};

Helping helped(double champion, double own, double y) {
  Helping helping;
  for (int i = 0; i < 100; ++i) {
    const double middle = champion + 0.5 * (own - champion);
    helping.add(kSquare.loss(champion, y), kSquare.loss(middle, y), kSquare.loss(own, y), own - champion, 1.0);
  }
  return helping;
}

}  // namespace

TEST(the_parabola_is_exact_for_squared_loss) {
  for (double y = -2.0; y <= 2.0; y += 0.5) {
    const Helping helping = helped(1.0, -0.5, y);
    for (double share = 0.0; share <= 1.0; share += 0.125) {
      const double saved = 100.0 * (kSquare.loss(1.0, y) - kSquare.loss(1.0 - 1.5 * share, y));
      CHECK(std::fabs(helping.gain(share, 0.0) - saved) < 1e-9);
      CHECK(helping.gain(share, 0.5) <= helping.gain(share, 0.0));  // noise counts against it
    }
    CHECK(std::fabs(helping.apart - 2.25) < 1e-12);
    CHECK_EQ(helping.n, 100);
  }
}

TEST(sums_of_help_decay) {
  Helping helping;
  helping.add(8.0, 4.0, 2.0, 3.0, 0.5);
  helping.add(1.0, 1.0, 1.0, 1.0, 0.5);
  CHECK(helping.none == 5.0 && helping.half == 3.0 && helping.whole == 2.0);
  CHECK_EQ(helping.noise, 16.0 * 0.25);
  CHECK_EQ(helping.apart, 5.0);
  const Helping before = helping;
  helping.add(NAN, 1.0, 1.0, 1.0, 0.5);
  helping.add(1.0, INFINITY, 1.0, 1.0, 0.5);
  helping.add(1.0, 1.0, 1.0, INFINITY, 0.5);
  CHECK(helping.n == before.n && helping.none == before.none && helping.apart == before.apart);
}

TEST(nobody_leads_further_than_the_cap) {
  Serving serving;
  serving.share = 0.5;
  serving.most = 2.0;
  CHECK_EQ(serving.served(1.0, 2.0), 1.5);
  CHECK_EQ(serving.served(1.0, 100.0), 2.0);
  CHECK_EQ(serving.served(1.0, -100.0), 0.0);
  CHECK_EQ(serving.served(1.0, INFINITY), 2.0);
  serving.most = 0.0;
  CHECK_EQ(serving.served(1.0, 100.0), 1.0);
}

TEST(who_helps_is_blended_in) {
  Ring ring(2);
  int first = 0;
  for (int i = 1; i <= 120; ++i) {
    const double turn = i % 2 == 0 ? 1.0 : -1.0;  // the champion and the second err to opposite sides
    ring.round({turn, 3.0 * turn, -turn}, 0.0);
    const Serving& serving = ring.contest.serving();
    if (serving.other == Serving::kNoChallenger) continue;
    if (first == 0) first = i;
    CHECK_EQ(serving.other, 1U);
    CHECK_EQ(serving.share, 0.5);
    CHECK(std::fabs(serving.most - 3.0 * 2.0) < 1e-9);
    CHECK_EQ(ring.served({1.0, 3.0, -1.0}), 0.0);
  }
  CHECK_EQ(first, 2);  // in the beginning: nobody is known better
  CHECK(ring.contest.serving().lost < ring.contest.serving().champion_lost);
}

TEST(whoever_serves_alone_is_a_share_of_one) {
  PairedRules unmoved;
  unmoved.warm_up = 1000;  // nobody is promoted
  Ring ring(1, kNever, false, unmoved);
  for (int i = 0; i < 110; ++i) ring.round({1.0, 0.0}, 0.0);
  CHECK_EQ(ring.contest.serving().other, 0U);
  CHECK_EQ(ring.contest.serving().share, 1.0);
}

TEST(blending_ends_where_it_harms) {
  BlendRules blending;
  blending.burn_in = blending.early = 10;
  Ring ring(1, kNever, false, {}, blending);
  for (int i = 0; i < 40; ++i) ring.round({i % 2 == 0 ? 1.0 : -1.0, i % 2 == 0 ? -1.0 : 1.0}, 0.0);
  CHECK_EQ(ring.contest.serving().other, 0U);
  bool alone = false;
  for (int i = 0; i < 60 && !alone; ++i) {
    ring.round({0.5, 3.0}, 0.5);
    alone = ring.contest.serving().other == Serving::kNoChallenger;
  }
  CHECK(alone);
  BlendRules never = blending;
  never.champion_only = true;
  Ring other(1, kNever, false, {}, never);
  for (int i = 0; i < 40; ++i) other.round({i % 2 == 0 ? 1.0 : -1.0, i % 2 == 0 ? -1.0 : 1.0}, 0.0);
  CHECK_EQ(other.contest.serving().other, Serving::kNoChallenger);
}

TEST(needed_odds_are_an_event) {
  Ring ring(2);
  int steps = 0;
  while (!ring.round({1.0, 1.0, std::sqrt(0.3)}, 0.0)) CHECK(++steps < 1000);
  const auto& all = ring.contest.challengers();
  CHECK(all[1].pairing.wealth + all[1].pairing.reserve >= all[1].pairing.needed);
  CHECK(all[0].pairing.wealth + all[0].pairing.reserve < all[0].pairing.needed);
}

TEST(worse_challengers_are_an_event_after_some_patience) {
  PairedRules rules;
  rules.patience = 300;
  Ring ring(1, kNever, false, rules);
  int steps = 1;
  bool overdue = false;
  while (!ring.round({1.0, 1.4}, 0.0)) {
    CHECK(++steps < 1000);
    const Pairing& pairing = ring.contest.challengers()[0].pairing;
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
    quiet.contest.begin_round();
    quiet.contest.predicted(7, 1.0);  // the challenger has made no forecast, and is not charged
    quiet.contest.charge(kSquare, 1.0, 0.0, 1.0);
    CHECK(!quiet.contest.decide());
  }
  CHECK_EQ(quiet.contest.challengers()[0].pairing.n, 0);
  CHECK_EQ(quiet.contest.charged(), 10);
}

TEST(a_contest_that_decides_anyway_is_always_due) {
  Ring ring(1, kNever, true);
  for (int i = 0; i < 5; ++i) CHECK(ring.round({1.0, 1.0}, 0.0));
  ring.contest.set_state(7, {challenger(8)}, {}, 1.0, 5, false);
  CHECK(!ring.round({1.0, 1.0}, 0.0));
}

TEST(an_event_leaves_who_serves_as_it_is) {
  Ring ring(1, 150);
  for (int i = 0; i < 149; ++i) ring.round({i % 2 == 0 ? 1.0 : -1.0, i % 2 == 0 ? -1.0 : 1.0}, 0.0);
  CHECK_EQ(ring.contest.serving().share, 0.5);
  for (int i = 0; i < 20; ++i) CHECK(ring.round({0.0, 9.0}, 0.0));  // Python decides, and chooses
  CHECK_EQ(ring.contest.serving().share, 0.5);
}

TEST(whoever_is_forgotten_makes_a_contest_incomplete) {
  for (const std::uint32_t model : {7U, 8U, 9U}) {
    Ring ring(2);
    ring.contest.forget(3);  // somebody else
    CHECK(ring.contest.complete());
    ring.contest.forget(model);
    CHECK(!ring.contest.complete());
    ring.contest.set_state(7, {}, {}, 0.0, 0, false);
    CHECK(ring.contest.complete());
    CHECK_EQ(ring.contest.live(), std::size_t{1});
  }
}

TEST(the_level_is_a_mean_with_a_memory) {
  Ring ring(0);
  for (int i = 0; i < 100; ++i) ring.round({2.0}, 0.0, 0.5);
  CHECK(std::fabs(ring.contest.level() - 2.0) < 1e-12);  // weight times loss
  ring.round({NAN}, 0.0);
  ring.round({1e200}, 0.0);
  CHECK(std::fabs(ring.contest.level() - 2.0) < 1e-12);
  CHECK_EQ(ring.contest.charged(), 100);
  for (int i = 0; i < 30000; ++i) ring.round({1.0}, 0.0);
  CHECK(std::fabs(ring.contest.level() - 1.0) < 1e-3);  // it forgets
}

namespace {

// An engine with a champion, two challengers (one damped, one of other bits), a screen and a baseline.
struct Setting {
  Engine engine;
  std::vector<std::uint32_t> models;

  explicit Setting(const char* kernel = "plain", std::int64_t lease = 60) : engine(18, kernel_named(kernel)) {
    models.push_back(engine.start(18, Options(), {}));
    for (const char* line : {"1 |a f1 x2:0.5 |b f3", "2 |b f3 |user color:red"}) {
      CHECK(engine.parse(line));
      engine.learn();
    }
    models.push_back(engine.start(18, Options(), {{"a", "b"}}, 0, 0.1F));
    models.push_back(engine.start(10, Options(), {{"user", "a"}, {"b", "b"}}));
    models.push_back(engine.start(18, Options(), {}));
    BlendRules blending;
    blending.burn_in = blending.early = 20;
    engine.set_contest_rules(ServedLoss(), {}, blending, 0.25, 0.5);
    Groups& groups = engine.groups();
    const std::uint32_t a = groups.number("a"), b = groups.number("b"), c = groups.number("c");
    engine.screen().set({{a, b}, {b, c}, {a, a}}, {64, 64, 16});
    engine.set_contest(models[0], {challenger(models[1], lease), challenger(models[2], lease + 7)}, {}, 0.0, 0, false);
    engine.set_baseline(models[3]);
    engine.record().wanted = true;
  }
  std::string seen() { return picture(engine, models); }
  // Leases are ended and begun again: it goes on.
  void go_on() {
    const Contest& contest = engine.contest();
    std::vector<Challenger> all = contest.challengers();
    for (Challenger& one : all) {
      if (one.pairing.n >= one.lease) one.lease *= 2;
      one.pairing.needed = 1e300;
      one.pairing.against = std::min(one.pairing.against, 1.0);
    }
    engine.set_contest(contest.champion(), std::move(all), contest.serving(), contest.level(), contest.charged(), false);
  }
  Status step(std::string_view line) {
    CHECK(engine.parse(line) && engine.take_label());
    return engine.step();
  }
};

std::string text_of(std::uint64_t seed, int n) {
  Rng rng(seed);
  std::string text;
  for (int i = 0; i < n; ++i) text += random_line(rng) + "\n";
  return text;
}

}  // namespace

TEST(a_contest_in_chunks_of_any_size_is_the_same) {
  const std::string text = text_of(80, 400);
  std::string expected;
  for (const char* kernel : {"plain", "avx2", "avx512"}) {
    if (kernel_named(kernel) == nullptr) continue;
    for (const std::uint32_t most : {1U, 7U, 400U}) {
      Setting setting(kernel);
      Rng rng(81);
      std::size_t at = 0;
      int decisions = 0;
      while (at < text.size()) {
        const BlockProgress progress = setting.engine.advance_text(text, at, true, rng.below(most) + 1);
        CHECK(progress.at > at);
        at = progress.at;
        if (progress.status != Status::kDecide) continue;
        ++decisions;
        CHECK(setting.engine.advance_text(text, at, true, 1).status == Status::kOverdue || at == text.size());
        setting.go_on();
      }
      CHECK(decisions > 2);
      if (expected.empty()) expected = setting.seen();
      CHECK_EQ(setting.seen(), expected);
      CHECK(setting.engine.screen().rounds() > 3);
      const auto& shares = setting.engine.record().shares;
      CHECK(std::any_of(shares.begin(), shares.end(), [](double share) { return share > 0.0; }));
    }
  }
}

TEST(what_is_served_is_the_blend) {
  Setting setting;
  const Contest& contest = setting.engine.contest();
  Serving serving;
  serving.other = 1;
  serving.share = 0.25;
  serving.most = 1e9;
  setting.engine.set_contest(setting.models[0], contest.challengers(), serving, 0.0, 0, false);
  CHECK(setting.engine.parse("3 |a f1 x2:0.5 |b f3"));
  setting.engine.predict();
  const double champion = setting.engine.raw(setting.models[0]);
  const double other = setting.engine.raw(setting.models[2]);
  CHECK(champion != other);
  CHECK_EQ(setting.engine.served_now(), champion + 0.25 * (other - champion));
  CHECK_EQ(setting.engine.advance_text("3 |a f1 x2:0.5 |b f3\n", 0, true, 1).examples, std::size_t{1});
  const Record& record = setting.engine.record();
  CHECK_EQ(record.served_by[0], setting.models[0]);
  CHECK_EQ(record.others[0], setting.models[2]);
  CHECK_EQ(record.shares[0], 0.25);
  CHECK_EQ(record.predictions[0], champion + 0.25 * (other - champion));
  CHECK_EQ(contest.serving().lost, kSquare.loss(record.predictions[0], 3.0));
}

TEST(a_contest_with_wrong_numbers_is_refused) {
  Setting setting;
  for (int i = 0; i < 30; ++i) setting.step("1 |a f1 |b f3");
  const std::string before = setting.seen();
  const auto all = setting.engine.contest().challengers();
  const std::uint32_t champion = setting.models[0];
  CHECK_THROWS(setting.engine.set_contest(99, all, {}, 5.0, 5, true), std::out_of_range);
  CHECK_THROWS(setting.engine.set_contest(champion, {challenger(99)}, {}, 5.0, 5, true), std::out_of_range);
  Serving serving;
  serving.other = 2;
  CHECK_THROWS(setting.engine.set_contest(champion, all, serving, 5.0, 5, true), std::out_of_range);
  CHECK_THROWS(setting.engine.set_contest(champion, {}, Serving{0, 0.5, 1.0, 0.0, 0.0}, 5.0, 5, true),
               std::out_of_range);
  CHECK_EQ(setting.seen(), before);
  CHECK(setting.step("1 |a f1 |b f3") == Status::kFine);
}

TEST(a_stopped_challenger_stops_the_contest) {
  Setting setting;
  setting.step("1 |a f1 |b f3");
  setting.engine.stop(setting.models[1]);
  setting.models.erase(setting.models.begin() + 1);
  CHECK(setting.engine.parse("1 |a f1 |b f3") && setting.engine.take_label());
  const std::string before = setting.seen();
  CHECK_THROWS(setting.engine.step(), std::logic_error);
  CHECK_EQ(setting.seen(), before);
  setting.engine.set_contest(setting.models[0], {challenger(setting.models[1])}, {}, 0.0, 0, false);
  CHECK(setting.step("1 |a f1 |b f3") == Status::kFine);
}

TEST(a_late_label_charges_who_foretold_it) {
  Setting setting;
  CHECK(setting.engine.parse("3 |a f1 |b f3") && setting.engine.take_label());
  const Forecast nobody{{{setting.models[1], 2.5}}, 1.0, 2.0};
  setting.engine.step(&nobody);  // without the champion there is nothing to compare with
  CHECK_EQ(setting.engine.contest().charged(), 0);
  CHECK_EQ(setting.engine.screen().examples(), 0);
  CHECK_EQ(setting.engine.served().total, 4.0);
  const Forecast both{{{setting.models[0], 1.0}, {setting.models[1], 2.5}, {99, 5.0}}, 2.0, 2.0};
  CHECK(setting.engine.parse("3 |a f1 |b f3") && setting.engine.take_label());
  setting.engine.step(&both);
  const Contest& contest = setting.engine.contest();
  CHECK_EQ(contest.charged(), 1);
  CHECK_EQ(contest.level(), 4.0);
  CHECK_EQ(contest.challengers()[0].pairing.loss, 0.25);
  CHECK_EQ(contest.challengers()[1].pairing.n, 0);
  CHECK_EQ(contest.serving().lost, 1.0);
  CHECK_EQ(setting.engine.screen().examples(), 1);
}

TEST(examples_without_weight_are_no_evidence) {
  Setting setting;
  setting.step("1 0 |a f1 |b f3");
  CHECK_EQ(setting.engine.contest().charged(), 0);
  CHECK_EQ(setting.engine.contest().challengers()[0].pairing.n, 0);
  CHECK_EQ(setting.engine.screen().examples(), 0);
  CHECK_EQ(setting.engine.t(), 1);
}

TEST(damping_is_a_number) {
  Engine engine(18, &kPlainKernel);
  const std::uint32_t model = engine.start(18, Options(), {});
  for (const float damping : {-1.0F, NAN, INFINITY}) {
    CHECK_THROWS(engine.start(18, Options(), {{"a", "b"}}, static_cast<int>(model), damping), std::invalid_argument);
  }
  CHECK_THROWS(engine.undamp(5), std::out_of_range);
  CHECK_THROWS(engine.dump(1), std::out_of_range);
}
