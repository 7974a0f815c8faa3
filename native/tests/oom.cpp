// Every allocation fails in one run: the step can be repeated, nothing else has changed, and the
// final state is that of a run without a failure.
#include <new>

#include "support/check.hpp"
#include "support/engine_steps.hpp"
#include "support/failing_new.hpp"

using namespace chacha;
using namespace chacha::oom;

namespace {

const char* const kMany =
    "2 |a f1 f2 f3 f4 f5:2 |b f1 f2 f3 f4 |user color:red x y z |c 1 2 3 |b f9";

// The life of an engine: models start, are copied and stop, in two banks; groups are apart; a
// product of one model is shared later; weights are dumped and loaded.
std::vector<Step> life() {
  Life life(40, [](Rng& rng) { return random_line(rng); });
  life.then([](World& world) {
    world.engine.record().wanted = world.engine.record().tags_wanted = true;
    world.engine.groups().number("alpha");
  });
  life.then(start(0, 18, with(0.5F, 0.5F), {}));
  life.then(start(1, 18, with(0.2F, 0.5F), {{"a", "b"}}));
  life.then(start(2, 9, with(0.3F, 0.4F), {{"user", "a"}, {"b", "b"}}));
  life.then(contend());
  life.lines(6);
  life.then(learn(kMany));
  life.then(learn(kMany));
  life.then(predict(kUnknown));
  life.then(start(3, 18, with(0.2F, 0.5F), {{"a", "b"}, {"c", "user", "b"}}, 1));
  life.then(contend());
  life.then(learn(kMany));
  life.lines(4);
  life.then(start(4, 18, with(0.4F, 0.5F, LossKind::kQuantile),
                  {{"b", "b"}}));  // one lane too many: wider
  life.then(contend());
  life.lines(4);
  life.then(stop(2));  // the last of its bank
  life.then(start(2, 10, with(0.3F, 0.5F), {{"a", "b"}}));
  life.then(contend());
  life.text(10);
  life.then(stop(1));
  life.then(start(1, 18, with(0.5F, 0.3F), {{"c", "user", "b"}}));
  life.then(contend());
  life.lines(3);
  life.then(learn(kMany));
  life.then(
      [](World& world) { world.engine.load(world.models[1], world.engine.dump(world.models[3])); });
  life.lines(3);
  life.then(learn("1 |new x y |newer z |hollow |new q"));
  return life.steps;
}

// The same for a contest: damped copies, a screen, a served blend, a late label.
std::vector<Step> contested_life() {
  Life life(41, [](Rng& rng) { return random_line(rng); });
  life.then([](World& world) {
    world.engine.record().wanted = world.engine.record().tags_wanted = true;
    Blending blending;
    blending.burn_in = blending.early = 5;
    world.engine.set_contest_rules(ServedLoss(), {}, blending, 1.0, 0.5);
  });
  life.then(start(0, 18, with(0.5F, 0.5F), {}));
  life.then(contest(kNever));
  life.then(screen({{"a", "b"}, {"a", "a"}, {"b", "user"}, {"late", "a"}}));
  life.lines(5);
  life.then(start(1, 18, with(0.5F, 0.5F), {{"a", "b"}}, 0, 0.1F));
  life.then(start(2, 18, with(2.0F, 0.5F), {}, 0, 0.1F));
  life.then(start(3, 9, with(0.3F, 0.4F), {{"user", "a"}, {"b", "b"}}));
  life.then(contest(8));
  life.lines(6);
  life.then(learn(kMany));
  life.then(predict(kUnknown));
  life.then(learn(kMany));
  life.then(start(4, 18, with(0.5F, 0.5F), {{"a", "b"}, {"c", "user", "b"}}, 1, 0.5F));  // wider
  life.then(contest(kNever));
  life.lines(4);
  life.then(undamp(1));
  life.then(stop(2));
  life.then(contest(kNever));
  life.then(screen({{"b", "c"}, {"b", "b", "user"}}));
  life.text(10);
  life.then(stop(3));
  life.then(start(2, 18, with(0.5F, 0.5F), {{"a", "b"}, {"late", "a"}}, 1, 0.2F));
  life.then(contest(kNever));
  life.then([](World& world) {
    CHECK(world.engine.parse("3 |late x y |a f1 z |b f2") && world.engine.take_label());
    const Forecast forecast{{{world.models[0], 1.0}, {world.models[1], 2.5}}, 1.5, 0.0};
    world.step(&forecast);
  });
  life.lines(3);
  life.then(learn(kMany));
  life.then(learn("1 |new x y |newer z |hollow |new q |late x"));
  return life.steps;
}

// Models with derived groups: knots become ready and are extended, columns and values appear.
std::vector<Step> derived_life() {
  Life life(42, [](Rng& rng) { return numeric_line(rng); });
  life.then(derive(3));
  life.then(start(0, 18, with(0.5F, 0.5F), {{"bins(a,3)"}, {"lag(label,3)"}}));
  life.then(contend());
  life.lines(8);
  life.then(start(1, 18, with(0.3F, 0.5F),
                  {{"bins(a,16)"}, {"onehot(b)"}, {"bins(a,16)", "onehot(b)"}, {"log(a)"}}, 0,
                  0.2F));
  life.then(start(2, 9, with(0.3F, 0.4F),
                  {{"lag(a,2)"}, {"ewma(b,0.25)"}, {"missing(a)"}, {"own(f)"}, {"lag(a,2)", "b"}}));
  life.then(contend());
  life.lines(10);
  life.then(advance_rows(43));
  life.then(stop(2));
  life.then(start(
      2, 18, with(0.5F, 0.5F),
      {{"cyclic(hour,24)"}, {"ewma(label,0.5)"}, {"bins(a,3)", "bins(a,3)"}, {"onehot(bee)"}}));
  life.then(contend());
  life.lines(6);
  life.text(10);
  life.then(stop(1));
  life.then(start(1, 18, with(0.5F, 0.5F), {}));
  life.then(contend());
  life.then(
      learn("1 |a x:3 n1:2 n2:3 n3:4 |fresh x:2 y:3 |missing(fresh) z |own(f) p |lately k:12"));
  life.then(advance_rows(44));
  life.lines(3);
  return life.steps;
}

// The same in a contest, with a screen of derived groups that no model has.
std::vector<Step> derived_contest() {
  Life life(45, [](Rng& rng) { return numeric_line(rng); });
  life.then(
      [](World& world) { world.engine.set_contest_rules(ServedLoss(), {}, Blending(), 1.0, 0.5); });
  life.then(derive(3));
  life.then(start(0, 18, with(0.5F, 0.5F), {}));
  life.then(contest(kNever));
  life.then(screen({{"bins(a,3)"},
                    {"onehot(b)"},
                    {"a", "b"},
                    {"lag(label,3)"},
                    {"cyclic(hour,24)"},
                    {"missing(a)"}}));
  life.lines(10);
  life.then(start(1, 18, with(0.5F, 0.5F), {{"bins(a,3)"}}, 0, 0.1F));
  life.then(start(2, 9, with(0.5F, 0.5F), {{"lag(label,3)"}, {"onehot(b)"}}));
  life.then(contest(kNever));
  life.then(screen({{"bins(a,3)", "b"},
                    {"bins(a,16)"},
                    {"lag(a,2)"},
                    {"own(f)"},
                    {"onehot(bee)"},
                    {"bins(a,3)", "bins(a,3)"}}));
  life.lines(10);
  life.then(
      learn("1 |a x:1 x:2 x:3 x:4 x:5 x:6 y:1 y:2 y:3 |b k:1 k:2 k:77 |bee w:500 w:501 |own(f) a b "
            "c d e f"));
  life.then(advance_rows(46));
  life.then(stop(1));
  life.then(contest(kNever));
  life.lines(5);
  return life.steps;
}

// The rules of a contest that serves blends.
void begin_contest(World& world) {
  world.engine.set_contest_rules(ServedLoss(), {}, Blending(), 1.0, 0.5);
  world.engine.record().wanted = true;
}

// Labels in units of their scale: the first rows are learned again and again, in two banks, with
// derived groups, a screen and a copy that starts among them.
std::vector<Step> scaled_life() {
  Life life(47, [](Rng& rng) { return numeric_line(rng); });
  life.then(begin_contest);
  life.then(derive(3));
  life.then(start(0, 18, with(0.5F, 0.5F), {}));
  life.then(start(1, 9, with(0.3F, 0.5F), {{"a", "b"}, {"bins(a,3)"}}));
  life.then(contest(kNever));
  life.then(screen({{"a", "b"}, {"lag(label,3)"}, {"b", "hour"}}));
  life.then(scale_labels(11));
  life.lines(5);
  life.then(start(2, 18, with(0.3F, 0.4F), {{"a", "a"}, {"lag(label,3)"}}, 0, 0.1F));
  life.then(contest(kNever));
  life.text(5);
  life.then(learn(kMany));
  life.then([](World& world) { world.engine.renew_scale(12, true); });
  life.then(start(3, 18, with(0.3F, 0.5F), {{"a", "b"}}));  // of logarithms
  life.then(contest(kNever));
  life.lines(4);
  return life.steps;
}

// The same if more labels are equal at first than there are first rows.
std::vector<Step> equal_life() {
  Life life(48, [](Rng& rng) { return numeric_line(rng); });
  life.then(begin_contest);
  life.then(start(0, 18, with(0.5F, 0.5F), {}));
  life.then(start(1, 9, with(0.3F, 0.5F), {{"a", "b"}}));
  life.then(contest(kNever));
  life.then(scale_labels(4));
  for (const char* line : {"7 |a x:1 |b k:2", "7 |a x:2", "7 |b k:3 m:4", "7 |a y:1 |b k:2",
                           "7 |a x:3 |b m:2", "7 |a x:5"}) {
    life.then(learn(line));
  }
  life.lines(6);
  return life.steps;
}

// The same for a table of numbers.
std::vector<Step> scaled_table() {
  Life life(0, [](Rng& rng) { return numeric_line(rng); });
  life.then(begin_contest);
  life.then(start(0, 18, with(0.5F, 0.5F), {}));
  life.then(start(1, 9, with(0.3F, 0.5F), {{"a", "b"}}));
  life.then(contest(kNever));
  life.then(scale_labels(6));
  life.then([](World& world) { world.engine.centring().turn_on(); });
  life.then(advance_rows(49));
  return life.steps;
}

struct Outcome {
  std::vector<std::string> before;  // what is predicted before every step
  std::string end;
};

Outcome without_trouble(const std::vector<Step>& steps) {
  Outcome outcome;
  World looked, world;
  for (const Step& step : steps) {
    outcome.before.push_back(forecasts(looked));
    step(looked);
    step(world);
  }
  outcome.end = picture(world.engine, world.live());
  CHECK_EQ(picture(looked.engine, looked.live()), outcome.end);
  return outcome;
}

// Fails at the n-th allocation; false if there are fewer. With `look`, predictions are made before
// the step is repeated, and must be those from before the step.
bool with_trouble(const std::vector<Step>& steps, const Outcome& expected, long long n, bool look) {
  World world;
  failing::failed = false;
  failing::left = n;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::size_t at = world.at;
    try {
      steps[i](world);
    } catch (const std::bad_alloc&) {
      failing::left = -1;
      CHECK(failing::failed);
      if (look && world.at == at && at == 0 && forecasts(world) != expected.before[i]) {
        check::fail(__FILE__, __LINE__,
                    print("allocation %lld, step %zu: predictions changed", n, i));
      }
      steps[i](world);
    }
  }
  failing::left = -1;
  if (picture(world.engine, world.live()) != expected.end) {
    check::fail(__FILE__, __LINE__, print("allocation %lld: another end", n));
  }
  return failing::failed;
}

long long trouble_everywhere(const std::vector<Step>& steps, bool look) {
  const Outcome expected = without_trouble(steps);
  long long n = 0;
  while (with_trouble(steps, expected, n, look)) ++n;
  std::printf("  %lld allocations failed, one in each run\n", n);
  return n;
}

// A step that fails is put off: the final state is that of a run in which it was never tried.
// Returns the number of allocations at which it can fail.
long long put_off(const std::vector<Step>& begin, const Step& failing_step,
                  const std::vector<Step>& then) {
  const auto live = [&](World& world, const std::vector<Step>& steps) {
    for (const Step& step : steps) step(world);
  };
  World usual;
  live(usual, begin);
  live(usual, then);
  const std::string expected = picture(usual.engine, usual.models);
  for (long long n = 0;; ++n) {
    World world;
    live(world, begin);
    failing::left = n;
    try {
      failing_step(world);
      failing::left = -1;
      return n;
    } catch (const std::bad_alloc&) {
      failing::left = -1;
      live(world, then);
      CHECK(picture(world.engine, world.models) == expected);
    }
  }
}

}  // namespace

TEST(a_failed_step_can_be_done_again) { CHECK(trouble_everywhere(life(), false) > 500); }

TEST(a_failed_step_changes_no_prediction) { CHECK(trouble_everywhere(life(), true) > 500); }

TEST(a_failed_step_of_a_contest_can_be_done_again) {
  CHECK(trouble_everywhere(contested_life(), false) > 500);
}

TEST(a_failed_step_of_a_contest_changes_no_prediction) {
  CHECK(trouble_everywhere(contested_life(), true) > 500);
}

TEST(a_failed_step_with_derived_groups_can_be_done_again) {
  CHECK(trouble_everywhere(derived_life(), false) > 500);
}

TEST(a_failed_step_with_derived_groups_changes_no_prediction) {
  CHECK(trouble_everywhere(derived_life(), true) > 500);
}

TEST(a_failed_step_with_derived_candidates_can_be_done_again) {
  CHECK(trouble_everywhere(derived_contest(), false) > 500);
}

TEST(a_failed_step_with_derived_candidates_changes_no_prediction) {
  CHECK(trouble_everywhere(derived_contest(), true) > 500);
}

TEST(a_failed_step_among_the_first_rows_can_be_done_again) {
  CHECK(trouble_everywhere(scaled_life(), false) > 500);
  CHECK(trouble_everywhere(equal_life(), false) > 200);
  CHECK(trouble_everywhere(scaled_table(), false) > 200);
}

TEST(a_failed_step_among_the_first_rows_changes_no_prediction) {
  CHECK(trouble_everywhere(scaled_life(), true) > 500);
  CHECK(trouble_everywhere(equal_life(), true) > 200);
  CHECK(trouble_everywhere(scaled_table(), true) > 200);
}

// The row that could not be kept is not one of the first.
TEST(a_failed_example_among_the_first_rows_can_be_put_off) {
  const std::vector<Step> begin = {
      begin_contest,          start(0, 18, with(0.5F, 0.5F), {{"a", "b"}}),
      contest(kNever),        scale_labels(8),
      learn("1 |a f1 |b f2"), learn("5 |a f2 |b f2")};
  const Step failing_step = learn("1000 |a f1 f2 f3 |b f4 f5 f6 |c f7 f8 f9 f10 f11 f12");
  const std::vector<Step> then = {learn("2 |a f1 |b f1"), learn("3 |a f1 |b f3"), learn(kMany)};
  CHECK(put_off(begin, failing_step, then) > 5);
}

// What is found when memory runs out somewhere and each call is made again.
TEST(failed_centres_can_be_found_again) {
  constexpr std::uint32_t kColumns = 30;
  Rng rng(50);
  std::vector<Example> rows(6);
  for (Example& row : rows) {
    row.open(0, 'a');
    for (std::uint32_t column = 0; column < kColumns; ++column) {
      if (column % 7 != 6 || rng.chance(2)) row.add_number(column, rng.real());
    }
    row.close();
  }
  const auto centres = [&](long long n) {
    Centring centring;
    centring.turn_on();
    failing::failed = false;
    failing::left = n;
    const auto twice = [](const auto& call) {
      try {
        call();
      } catch (const std::bad_alloc&) {
        CHECK(failing::failed);
        call();
      }
    };
    for (const Example& row : rows) {
      twice([&] { centring.prepare(row); });
      centring.observe(row);
      twice([&] { centring.fit(); });
    }
    failing::left = -1;
    std::string all;
    for (std::uint32_t column = 0; column < kColumns; ++column) {
      const Centre centre = centring.of(0, column);
      all += print("%a %a\n", centre.centre, centre.inverse);
    }
    return all;
  };
  const std::string expected = centres(-1);
  long long n = 0;
  for (; centres(n) == expected && failing::failed; ++n) {
  }
  CHECK(!failing::failed && centres(n) == expected);  // there are no more allocations to fail
  CHECK(n > 200);
}

// The new columns of a failed example are removed: columns are in the order of learned examples.
TEST(a_failed_example_with_new_columns_can_be_put_off) {
  const Step first = learn("2 |b k:3 m:9 |a y:2 w:3 |c q:1 |missing(b) z");
  const Step second = learn("1 |a w:4 x:2 y:1 |b m:2 |d p:1 |missing(a) z");
  const std::vector<Step> begin = {
      derive(2),
      start(0, 18, Options(), {{"lag(a,2)"}, {"ewma(b,0.25)"}, {"bins(a,3)"}, {"lag(a,2)", "b"}}),
      contend(), learn("1 |a x:1")};
  CHECK(put_off(begin, second, {first, second, second, first}) > 20);
}

// Places that were looked up before a failed example must not count as complete.
TEST(a_failed_example_can_be_put_off) {
  const Step first = learn("1 |a fresh x:2 |b more of it");
  const Step second = learn("2 |a f1 f2 f3 |b f4 f5 f6 |c f7 f8 f9 f10 f11 f12");
  const std::vector<Step> begin = {start(0, 18, Options(), {{"a", "b"}}), contend(),
                                   learn("1 |a f1 |b f2"), predict("|a fresh x:2 |b more of it")};
  CHECK(put_off(begin, second, {first, second}) > 5);
}

// A contest that cannot be set leaves the champion that serves.
TEST(a_failed_change_of_the_contest_can_be_put_off) {
  const auto begin_rules = [](World& world) {
    world.engine.set_contest_rules(ServedLoss(), {}, Blending(), 1.0, 0.5);
  };
  const Step promote = [](World& world) {
    ContestState state{world.models[1], 0, 0.0, {}, false, {}, {}};
    for (const std::size_t slot : {0U, 2U}) {
      state.challengers.push_back({world.models[slot], kNever, {}, {}});
    }
    world.engine.set_contest(std::move(state));
  };
  const Step alone = [](World& world) {
    world.engine.set_contest({world.models[0], 0, 0.0, {}, false, {}, {}});
  };
  const std::vector<Step> begin = {begin_rules,
                                   start(0, 18, with(0.5F, 0.5F), {}),
                                   start(1, 18, with(0.1F, 0.5F), {{"a", "b"}}),
                                   start(2, 9, with(0.3F, 0.5F), {}),
                                   alone,
                                   learn("1 |a f1 |b f2")};
  CHECK(put_off(begin, promote, {learn("2 |a f1 |b f2"), learn(kMany)}) > 2);
}

// Rules that cannot be set leave the earlier ones, with their custom payoff.
TEST(a_failed_change_of_the_rules_can_be_put_off) {
  const auto set_rules = [](double payoff, LossKind kind) -> Step {
    return [=](World& world) {
      PairedBetting rules;
      rules.block = rules.warm_up = 1;
      rules.clip = payoff;
      const std::vector<double> large(8, payoff);  // not held in the function itself
      rules.custom = [large](double, double, double, double) { return large[7]; };
      world.engine.set_contest_rules(ServedLoss{kind}, rules, Blending(), payoff / 4.0, 0.5);
    };
  };
  const std::vector<Step> begin = {
      set_rules(1.5, LossKind::kSquared), start(0, 18, with(0.5F, 0.5F), {}),
      start(1, 18, with(0.1F, 0.5F), {{"a", "b"}}), contest(kNever), learn("1 |a f1 |b f2")};
  const std::vector<Step> then(5, learn("2 |a f1 |b f2"));
  CHECK(put_off(begin, set_rules(2.5, LossKind::kQuantile), then) > 3);
}

int main(int argc, char** argv) { return check::run_all(argc > 1 ? argv[1] : ""); }
