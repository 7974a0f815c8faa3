// The engine with a contest: the same stream in any chunks gives the same, and blends are served.
#include <cmath>
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
    engine.set_contest(models[0], {challenger(models[1], lease), challenger(models[2], lease + 7)},
                       {}, 0.0, 0, false);
    engine.set_baseline(models[3]);
    engine.record().wanted = true;
  }
  std::string seen() { return picture(engine, models); }
  // Renews ended leases, so that the contest goes on.
  void go_on() {
    const Contest& contest = engine.contest();
    std::vector<Challenger> all = contest.challengers();
    for (Challenger& one : all) {
      if (one.pairing.n >= one.lease) one.lease *= 2;
      one.pairing.needed = 1e300;
      one.pairing.against = std::min(one.pairing.against, 1.0);
    }
    engine.set_contest(contest.champion(), std::move(all), contest.serving(), contest.level(),
                       contest.charged(), false);
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
  const Contest& contest = setting.engine.contest();
  Serving serving;
  serving.other = 1;
  serving.share = 0.25;
  serving.max_distance = 1e9;
  setting.engine.set_contest(setting.models[0], contest.challengers(), serving, 0.0, 0, false);
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
  CHECK_EQ(contest.serving().served_loss, kSquare.loss(record.predictions[0], 3.0));
}

TEST(a_contest_with_wrong_numbers_is_refused) {
  Setting setting;
  for (int i = 0; i < 30; ++i) setting.step("1 |a f1 |b f3");
  const std::string before = setting.seen();
  const auto all = setting.engine.contest().challengers();
  const std::uint32_t champion = setting.models[0];
  CHECK_THROWS(setting.engine.set_contest(99, all, {}, 5.0, 5, true), std::out_of_range);
  CHECK_THROWS(setting.engine.set_contest(champion, {challenger(99)}, {}, 5.0, 5, true),
               std::out_of_range);
  Serving serving;
  serving.other = 2;
  CHECK_THROWS(setting.engine.set_contest(champion, all, serving, 5.0, 5, true), std::out_of_range);
  CHECK_THROWS(
      setting.engine.set_contest(champion, {}, Serving{0, 0.5, 1.0, 0.0, 0.0}, 5.0, 5, true),
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

TEST(a_late_label_charges_the_models_that_predicted) {
  Setting setting;
  CHECK(setting.engine.parse("3 |a f1 |b f3") && setting.engine.take_label());
  const Forecast challenger_only{{{setting.models[1], 2.5}}, 1.0, 2.0};
  setting.engine.step(&challenger_only);  // without the champion there is nothing to compare with
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
  CHECK_EQ(contest.serving().served_loss, 1.0);
  CHECK_EQ(setting.engine.screen().examples(), 1);
}

TEST(examples_without_weight_are_not_evidence) {
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
    CHECK_THROWS(engine.start(18, Options(), {{"a", "b"}}, static_cast<int>(model), damping),
                 std::invalid_argument);
  }
  CHECK_THROWS(engine.undamp(5), std::out_of_range);
  CHECK_THROWS(engine.dump(1), std::out_of_range);
}
