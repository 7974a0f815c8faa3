// The engine with a contest: the same stream in any chunks gives the same, and blends are served.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "rules/contest.hpp"
#include "support/challengers.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

// An engine with a champion, two challengers (one damped, one of other bits), a screen and a
// baseline.
struct Setting {
  Engine engine;
  std::vector<std::uint32_t> models;

  explicit Setting(const char* kernel = "plain", std::int64_t lease = 60)
      : engine(18, kernel_named(kernel)) {
    models.push_back(engine.start(18, Options(), {}));
    for (const char* line : {"1 |a f1 x2:0.5 |b f3", "2 |b f3 |user color:red"}) {
      CHECK(engine.parse(line));
      engine.learn();
    }
    models.push_back(engine.start(18, Options(), {{"a", "b"}}, 0, 0.1F));
    models.push_back(engine.start(10, Options(), {{"user", "a"}, {"b", "b"}}));
    models.push_back(engine.start(18, Options(), {}));
    Blending blending;
    blending.burn_in = blending.early = 20;
    engine.set_contest_rules(ServedLoss(), {}, blending, 0.25, 0.5);
    Groups& groups = engine.groups();
    const std::uint32_t a = groups.number("a"), b = groups.number("b"), c = groups.number("c");
    engine.screen().set({{a, b}, {b, c}, {a, a}}, {64, 64, 16});
    engine.set_contest(
        contest_of(models[0], {challenger(models[1], lease), challenger(models[2], lease + 7)}));
    engine.set_baseline(models[3]);
    engine.record().wanted = true;
  }
  std::string seen() { return picture(engine, models); }
  // Renews ended leases, so that the contest goes on.
  void go_on() {
    ContestState state = engine.contest().state();
    for (Challenger& one : state.challengers) {
      if (one.pairing.n >= one.lease) one.lease *= 2;
      one.pairing.needed = 1e300;
      one.pairing.against = std::min(one.pairing.against, 1.0);
    }
    state.decide_anyway = false;
    engine.set_contest(std::move(state));
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
        const BlockProgress progress =
            setting.engine.advance_text(text, at, true, rng.below(most) + 1);
        CHECK(progress.at > at);
        at = progress.at;
        if (progress.status != Status::kDecide) continue;
        ++decisions;
        CHECK(setting.engine.advance_text(text, at, true, 1).status == Status::kOverdue ||
              at == text.size());
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
  const ContestState& contest = setting.engine.contest().state();
  Serving serving;
  serving.other = 1;
  serving.share = 0.25;
  serving.max_distance = 1e9;
  setting.engine.set_contest(contest_of(setting.models[0], contest.challengers, serving));
  CHECK(setting.engine.parse("3 |a f1 x2:0.5 |b f3"));
  setting.engine.predict();
  const double champion = setting.engine.raw(setting.models[0]);
  const double other = setting.engine.raw(setting.models[2]);
  CHECK(champion != other);
  CHECK_EQ(setting.engine.served_now(), champion + 0.25 * (other - champion));
  CHECK_EQ(setting.engine.advance_text("3 |a f1 x2:0.5 |b f3\n", 0, true, 1).examples,
           std::size_t{1});
  const Record& record = setting.engine.record();
  CHECK_EQ(record.served_by[0], setting.models[0]);
  CHECK_EQ(record.others[0], setting.models[2]);
  CHECK_EQ(record.shares[0], 0.25);
  CHECK_EQ(record.predictions[0], champion + 0.25 * (other - champion));
  CHECK_EQ(contest.serving.served_loss, kSquare.loss(record.predictions[0], 3.0));
}

TEST(a_contest_with_wrong_numbers_is_refused) {
  Setting setting;
  for (int i = 0; i < 30; ++i) setting.step("1 |a f1 |b f3");
  const std::string before = setting.seen();
  const auto refused = [&](std::uint32_t champion, std::vector<Challenger> all,
                           std::int64_t other) {
    ContestState state{champion, 5, 5.0, {}, true, {other, 0.5, 1.0, 0.0, 0.0}, std::move(all)};
    CHECK_THROWS(setting.engine.set_contest(std::move(state)), std::out_of_range);
  };
  const auto all = setting.engine.contest().state().challengers;
  const std::uint32_t champion = setting.models[0];
  refused(99, all, Serving::kNoChallenger);
  refused(champion, {challenger(99)}, Serving::kNoChallenger);
  refused(setting.models[3], {all[0], challenger(99)}, Serving::kNoChallenger);
  refused(champion, all, 2);
  refused(champion, {}, 0);
  refused(champion, all, -2);
  refused(champion, all, std::numeric_limits<std::int64_t>::min());
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
  setting.engine.set_contest(contest_of(setting.models[0], {challenger(setting.models[1])}));
  CHECK(setting.step("1 |a f1 |b f3") == Status::kFine);
}

TEST(a_late_label_charges_the_models_that_predicted) {
  Setting setting;
  CHECK(setting.engine.parse("3 |a f1 |b f3") && setting.engine.take_label());
  const Forecast challenger_only{{{setting.models[1], 2.5}}, 1.0, 2.0};
  setting.engine.step(&challenger_only);  // without the champion there is nothing to compare with
  CHECK_EQ(setting.engine.contest().state().charged, 0);
  CHECK_EQ(setting.engine.screen().examples(), 0);
  CHECK_EQ(setting.engine.served().total, 4.0);
  const Forecast both{{{setting.models[0], 1.0}, {setting.models[1], 2.5}, {99, 5.0}}, 2.0, 2.0};
  CHECK(setting.engine.parse("3 |a f1 |b f3") && setting.engine.take_label());
  setting.engine.step(&both);
  const ContestState& contest = setting.engine.contest().state();
  CHECK_EQ(contest.charged, 1);
  CHECK_EQ(contest.level, 4.0);
  CHECK_EQ(contest.challengers[0].pairing.loss, 0.25);
  CHECK_EQ(contest.challengers[1].pairing.n, 0);
  CHECK_EQ(contest.serving.served_loss, 1.0);
  CHECK_EQ(setting.engine.screen().examples(), 1);
}

TEST(a_forecast_without_the_champion_charges_nobody) {
  Setting setting;
  for (int i = 0; i < 30; ++i) setting.step("1 |a f1 |b f3");  // the losses of these are left over
  const auto late = [&](std::vector<std::pair<std::uint32_t, double>> raw) {
    CHECK(setting.engine.parse("3 |a f1 |b f3") && setting.engine.take_label());
    const Forecast forecast{std::move(raw), 1.0, 2.0};
    CHECK(setting.engine.step(&forecast) == Status::kFine);
  };
  const Contest& contest = setting.engine.contest();
  const auto evidence = [&] {  // the blend is chosen anew after every example
    ContestState state = contest.state();
    state.serving.other = Serving::kNoChallenger;
    state.serving.share = state.serving.max_distance = 0.0;
    Contest copy;
    copy.set_state(std::move(state));
    return picture(copy) + picture(setting.engine.screen(), setting.engine.groups());
  };
  const std::string before = evidence();
  const double served = setting.engine.served().total;
  late({{setting.models[1], 2.5}, {setting.models[2], 1.5}});
  late({});
  late({{99, 5.0}});
  CHECK_EQ(evidence(), before);
  CHECK_EQ(setting.engine.served().total, served + 3.0 * 4.0);  // it was served all the same
  CHECK_EQ(setting.engine.t(), 33);
  late({{setting.models[0], 1.0}});  // the champion alone
  CHECK_EQ(contest.state().charged, 31);
  for (const Challenger& one : contest.state().challengers) {
    CHECK_EQ(one.pairing.n, 30);
    CHECK_EQ(one.blend_gain.n, 30);
  }
}

TEST(a_custom_payoff_decides_as_the_test_it_repeats) {
  const std::string text = text_of(82, 400);
  std::string expected;
  for (const bool custom : {false, true}) {
    Setting setting("plain", 100);
    PairedBetting rules;
    rules.block = 5;
    std::int64_t bets = 0;
    if (custom) {
      const PairedBetting plain = rules;
      rules.custom = [plain, &bets](double mean, double variance, double gain, double harm) {
        ++bets;
        return plain.payoff_of_block(mean, variance, gain, harm);
      };
    }
    Blending blending;
    blending.burn_in = blending.early = 20;
    setting.engine.set_contest_rules(ServedLoss(), rules, blending, 0.25, 0.5);
    std::size_t at = 0;
    int decisions = 0;
    while (at < text.size()) {
      const BlockProgress progress = setting.engine.advance_text(text, at, true, 50);
      at = progress.at;
      if (progress.status != Status::kDecide) continue;
      ++decisions;
      setting.go_on();
    }
    CHECK(decisions > 0);
    CHECK_EQ(bets > 50, custom);
    if (expected.empty()) expected = setting.seen();
    CHECK_EQ(setting.seen(), expected);
  }
}

TEST(examples_without_weight_are_not_evidence) {
  Setting setting;
  setting.step("1 0 |a f1 |b f3");
  CHECK_EQ(setting.engine.contest().state().charged, 0);
  CHECK_EQ(setting.engine.contest().state().challengers[0].pairing.n, 0);
  CHECK_EQ(setting.engine.screen().examples(), 0);
  CHECK_EQ(setting.engine.t(), 1);
}

TEST(damping_is_a_number) {
  Engine engine(18, &kPlainKernel);
  const std::uint32_t model = engine.start(18, Options(), {});
  for (const float damping : {-1.0F, NAN, INFINITY}) {
    CHECK_THROWS(engine.start(18, Options(), {{"a", "b"}}, static_cast<int>(model), damping),
                 std::invalid_argument);
  }
  CHECK_THROWS(engine.undamp(5), std::out_of_range);
  CHECK_THROWS(engine.dump(1), std::out_of_range);
}
