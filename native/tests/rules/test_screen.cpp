// The screen: it finds the missing product and stays within its budget.
#include <cmath>
#include <limits>

#include "data/text_parser.hpp"
#include "rules/screen.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

struct Screened {
  Groups groups;
  Derivation derivation{groups};
  Screen screen;
  Example example;
  std::vector<std::uint32_t> empty;
  std::vector<std::vector<std::uint32_t>> products;
  std::size_t live = 5;
  double share = 0.0;

  explicit Screened(double share_ = 1.0) : share(share_) { screen.set_rules(share, 0.5); }

  void set(const std::vector<std::string>& names, std::uint32_t cells = 64) {
    products.clear();
    for (const std::string& name : names) {
      products.emplace_back();
      for (const char letter : name)
        products.back().push_back(groups.number(std::string(1, letter)));
    }
    screen.set(products, std::vector<std::uint32_t>(products.size(), cells));
  }
  void read(const std::string& line) {
    CHECK(parse_line(line, groups, example));
    example.order_runs(groups, empty);
  }
  void learn(double residual) {
    screen.prepare(example, groups.size(), live);
    screen.learn(example, derivation, true, residual, live);
  }
  void learn(const std::string& line, double residual) {
    read(line);
    learn(residual);
  }

  // The number of features of the example that are not zero, in a group or in all.
  std::size_t count(std::uint32_t group) const {
    std::size_t count = 0;
    for (const Run& run : example.runs) {
      if (run.group != group) continue;
      for (std::uint32_t i = run.begin; i < run.end; ++i)
        count += example.values[i] != 0.0F ? 1U : 0U;
    }
    return count;
  }
  std::size_t count() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < example.hashes.size(); ++i)
      count += example.values[i] != 0.0F ? 1U : 0U;
    return count;
  }
  // The number of features of a product of two groups in this example.
  std::size_t width(const std::vector<std::uint32_t>& product) const {
    const std::size_t left = count(product[0]);
    return product[0] == product[1] ? left * (left + 1) / 2 : left * count(product[1]);
  }
  std::vector<std::int64_t> looks() const {
    std::vector<std::int64_t> all;
    for (const Screen::Score& score : screen.scores()) all.push_back(score.looks);
    return all;
  }
  std::string seen() const {
    std::string all = print("%lld", static_cast<long long>(screen.rounds()));
    for (const Screen::Score& score : screen.scores()) {
      all += print(" %lld:%a", static_cast<long long>(score.looks), score.gain);
    }
    return all;
  }
};

}  // namespace

TEST(a_screen_finds_the_missing_product) {
  Rng rng(70);
  Screened screened(0.25);
  screened.set({"ab", "ac", "bc", "aa", "bb", "cc"});
  double square = 0.0;
  constexpr int kExamples = 4000;
  for (int i = 0; i < kExamples; ++i) {
    const double a = rng.real() * 2 - 1, b = rng.real() * 2 - 1, c = rng.real() * 2 - 1;
    square += a * c * a * c;
    screened.learn(print("|a x:%.6f |b y:%.6f |c z:%.6f", a, b, c), a * c);
  }
  const auto found = screened.screen.scores();
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].looks > 100);
    const double gain = found[i].gain / static_cast<double>(found[i].looks);
    if (i == 1) CHECK(gain > 0.8 * square / kExamples);
    if (i != 1) CHECK(gain < 0.1 * square / kExamples);
  }
}

TEST(a_screen_keeps_its_budget) {
  for (const double share : {0.05, 0.25, 1.0}) {
    Rng rng(71);
    Screened screened(share);
    screened.set({"ab", "bc", "aa", "bb", "cc", "ac"}, 1024);
    double allowed = 0.0;
    double worked = 0.0;
    std::vector<std::int64_t> before = screened.looks();
    for (int i = 0; i < 1500; ++i) {
      screened.read(random_line(rng, false));
      const auto least = static_cast<double>(screened.count() * screened.live);
      screened.learn(rng.real() - 0.5);
      const std::vector<std::int64_t> after = screened.looks();
      double step = 0.0;
      for (std::size_t k = 0; k < after.size(); ++k) {
        CHECK(after[k] - before[k] == 0 || after[k] - before[k] == 1);
        if (after[k] > before[k]) step += static_cast<double>(screened.width(screened.products[k]));
      }
      before = after;
      CHECK(step <= least);
      allowed += share * least;
      worked += step;
      CHECK(worked <= allowed * (1 + 1e-12));
    }
    if (share < 0.1) CHECK(worked > 0.5 * allowed);  // and what it may, it does
  }
}

TEST(a_share_of_nothing_screens_nothing) {
  Screened screened(0.0);
  screened.set({"ab"});
  for (int i = 0; i < 50; ++i) screened.learn("|a x y |b z", 1.0);
  CHECK_EQ(screened.looks()[0], 0);
  CHECK_EQ(screened.screen.rounds(), 0);
  CHECK_EQ(screened.screen.examples(), 50);
  CHECK_EQ(screened.screen.active(screened.groups.number("a")),
           100);  // features are counted all the same
  CHECK_EQ(screened.screen.active(99), 0);
}

TEST(zeros_are_not_screened) {
  Screened with, without;
  for (Screened* screened : {&with, &without}) screened->set({"ab", "aa", "bb"});
  Rng rng(72);
  for (int i = 0; i < 200; ++i) {
    const double residual = rng.real();
    for (Screened* screened : {&with, &without}) {
      Example& example = screened->example;
      example.clear();
      for (std::uint32_t group = 0; group < 2; ++group) {
        const std::uint32_t number = screened->groups.number(group == 0 ? "a" : "b");
        example.open(number, static_cast<unsigned char>('a' + group));
        for (std::uint32_t f = 0; f < 4; ++f) {
          const float value = f % 2 == 0 ? 0.0F : 0.5F + static_cast<float>(group);
          if (value != 0.0F || screened == &with) example.add(7 * f + group, value);
        }
        example.close();
      }
      screened->learn(residual);
    }
  }
  CHECK_EQ(with.seen(), without.seen());
  CHECK_EQ(with.screen.active(with.groups.number("a")), 400);
  CHECK(with.looks()[0] > 0);
  for (std::size_t i = 0; i < with.example.values.size(); ++i) with.example.values.data()[i] = 0.0F;
  with.learn(1.0);  // nothing is left to look at
  CHECK_EQ(with.looks()[0], without.looks()[0]);
}

TEST(a_group_may_stand_in_two_places) {
  Screened apart, together;
  for (Screened* screened : {&apart, &together}) {
    screened->groups.number("a");
    const std::uint32_t alpha = screened->groups.number("alpha");
    screened->set({"aa", "ab"});
    screened->products.push_back({screened->groups.number("a"), alpha});
    screened->screen.set(screened->products, {64, 64, 64});
  }
  Rng rng(73);
  for (int i = 0; i < 100; ++i) {
    const double residual = rng.real() - 0.3;
    apart.learn("|a x:2 |alpha q |a y:0.5 |b z |a w", residual);
    together.learn("|a x:2 y:0.5 w |alpha q |b z", residual);
    CHECK(i > 0 || apart.example.runs.size() > together.example.runs.size());
  }
  CHECK_EQ(apart.seen(), together.seen());
  CHECK(apart.looks()[0] > 0 && apart.looks()[2] > 0);
  CHECK_EQ(apart.screen.active(apart.groups.number("a")), 300);
}

TEST(a_group_with_itself_gives_combinations) {
  Screened screened;
  screened.live = 2;
  screened.set({"aa"});
  screened.learn("|a x y z", 1.0);  // 6 combinations, and 3 features of 2 models
  CHECK_EQ(screened.looks()[0], 1);
  screened.learn("|a w x y z", 1.0);  // 10, where 8 are allowed
  CHECK_EQ(screened.looks()[0], 1);
  CHECK_EQ(screened.screen.rounds(), 2);
  screened.live = 5;
  screened.set({"aaa"});
  screened.learn("|a x y z", 1.0);  // 10
  CHECK_EQ(screened.looks()[0], 1);
  screened.set({"aab"});
  screened.learn("|a x y |b z", 1.0);  // 3
  CHECK_EQ(screened.looks()[0], 1);
}

TEST(wide_candidates_are_skipped) {
  Screened screened(0.5);
  screened.live = 2;
  screened.set({"ab", "ac", "bc"});
  std::string line = "|a";
  for (int i = 0; i < 20; ++i) line += print(" a%d", i);
  line += " |b";
  for (int i = 0; i < 20; ++i) line += print(" b%d", i);
  line += " |c z";
  for (int i = 0; i < 40; ++i)
    screened.learn(line, 1.0);  // 400, 20 and 20 features; 82 are allowed
  const auto looks = screened.looks();
  CHECK_EQ(looks[0], 0);
  CHECK(looks[1] > 10 && looks[2] > 10);
  CHECK(screened.screen.rounds() > 10);  // the turn goes on
}

TEST(a_group_that_was_not_prepared_is_empty) {
  Screened screened;
  const std::uint32_t a = screened.groups.number("a");
  screened.read("|a x y");
  screened.screen.set({{a, 500}, {499, 500}, {a, a}}, {4, 4, 4});
  for (int i = 0; i < 10; ++i) screened.learn(1.0);
  const auto found = screened.screen.scores();
  CHECK_EQ(found[0].looks, 0);
  CHECK_EQ(found[1].looks, 0);
  CHECK_EQ(found[2].looks, 10);
  CHECK_EQ(screened.screen.rounds(), 10);
  CHECK_EQ(screened.screen.active(500), 0);
}

TEST(residuals_that_are_not_numbers_are_not_screened) {
  Screened screened;
  screened.set({"ab"});
  for (int i = 0; i < 20; ++i) screened.learn("|a x |b y", i % 2 == 0 ? 1.0 : -0.5);
  const std::string before = screened.seen();
  for (const double residual :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    screened.learn("|a x |b y", residual);
  }
  CHECK_EQ(screened.seen(), before);
  CHECK_EQ(screened.screen.examples(), 22);
}

TEST(a_guess_stays_among_the_residuals_seen) {
  Screened screened;
  screened.set({"ab"});
  for (int i = 0; i < 100; ++i) screened.learn("|a x |b y", 1.0);
  const double before = screened.screen.scores()[0].gain;
  screened.learn("|a x:1e6 |b y", 1.0);  // it guesses far more, and 1 counts
  CHECK(std::fabs(screened.screen.scores()[0].gain - before - 1.0) < 1e-9);
}

TEST(a_screen_starts_over) {
  Screened screened;
  screened.set({"ab"});
  for (int i = 0; i < 30; ++i) screened.learn("|a x |b y", 1.0);
  const std::size_t bytes = screened.screen.bytes();
  screened.set({"ab", "aa"}, 4096);
  CHECK_EQ(screened.screen.rounds(), 0);
  CHECK((screened.looks() == std::vector<std::int64_t>{0, 0}));
  CHECK(screened.screen.bytes() > bytes);
  screened.set({});
  for (int i = 0; i < 30; ++i) screened.learn("|a x |b y", 1.0);
  CHECK(screened.screen.scores().empty());
  CHECK_EQ(screened.screen.rounds(), 0);
}

TEST(candidates_that_stay_keep_what_they_learned) {
  Screened screened, always;
  screened.set({"ab", "bb", "aa"});
  always.set({"aa", "ab"});
  Rng rng(75);
  const auto learn = [&] {
    const std::string line = print("|a x:%.3f |b y:%.3f", rng.real(), rng.real());
    const double residual = rng.real() - 0.3;
    for (Screened* one : {&screened, &always}) one->learn(line, residual);
  };
  for (int i = 0; i < 30; ++i) learn();
  const auto before = screened.screen.scores();
  const auto numbers = screened.products;
  screened.screen.set({numbers[2], numbers[0], {numbers[0][0], numbers[0][0], numbers[0][1]}},
                      {4096, 1, 64}, 2);
  CHECK_EQ(screened.screen.kept(), 2U);
  CHECK_EQ(screened.screen.rounds(), 0);
  CHECK(check::same(screened.screen.scores()[0].gain, before[2].gain));
  CHECK(check::same(screened.screen.scores()[1].gain, before[0].gain));
  CHECK_EQ(screened.looks()[2], 0);
  for (int i = 0; i < 30; ++i) learn();
  const auto after = screened.screen.scores();
  for (std::size_t k = 0; k < 2; ++k) {
    CHECK_EQ(after[k].looks, always.screen.scores()[k].looks);
    CHECK(check::same(after[k].gain, always.screen.scores()[k].gain));
  }
  CHECK(after[2].looks > 20);
  screened.screen.begin_again();  // what was kept starts over, too
  CHECK_EQ(screened.screen.kept(), 0U);
  CHECK((screened.looks() == std::vector<std::int64_t>{0, 0, 0}));
}

TEST(one_cell_holds_all_features) {
  Screened screened;
  screened.set({"ab", "bb"}, 1);
  Rng rng(74);
  for (int i = 0; i < 200; ++i) screened.learn("|a x y:3 |b z w:0.1", rng.real());
  for (const Screen::Score& score : screened.screen.scores())
    CHECK(std::isfinite(score.gain) && score.gain > 0);
}
