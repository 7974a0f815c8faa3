// The learner: every kernel gives the same bits, and models that live together do not touch.
#include <cmath>

#include "support/check.hpp"
#include "data/text_parser.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

struct Crowd {
  Groups groups;
  Bank bank;
  Example example;
  std::vector<std::uint32_t> empty;
  std::vector<float> predictions = std::vector<float>(256);

  explicit Crowd(int bits, const char* kernel = "plain") : bank(bits, groups, kernel_named(kernel)) {}

  std::uint32_t start(const Options& options, const std::vector<std::string>& products, int from = -1) {
    std::vector<GroupList> lists;
    for (const std::string& names : products) {
      lists.emplace_back();
      for (const char name : names) lists.back().push_back(groups.number(name == 'u' ? "user" : std::string(1, name)));
    }
    return bank.start(options, lists, from);
  }
  void learn(const std::string& line) {
    read(line);
    bank.expand(example, true);
    bank.learn(example, predictions.data());
  }
  float predict(std::uint32_t lane, const std::string& line) {
    read(line);
    bank.expand(example, false);
    bank.predict(example, predictions.data());
    return predictions[lane];
  }
  std::string picture(std::uint32_t lane) {
    return chacha::picture(bank.dump(lane)) + chacha::picture(bank.state(lane));
  }

 private:
  void read(const std::string& line) {
    CHECK(parse_line(line, groups, example));
    example.order_runs(groups, empty);
  }
};

Options options(std::uint32_t which) {
  static const LossKind losses[] = {LossKind::kSquared, LossKind::kLogistic, LossKind::kQuantile, LossKind::kPoisson,
                                    LossKind::kHinge};
  Options made;
  made.loss = losses[which % 5];
  made.learning_rate = 0.1F + 0.2F * static_cast<float>(which % 4);
  if (which % 3 == 1) made.power_t = 0.3F;
  if (which % 7 == 2) made.initial_t = 1.5F;
  if (which % 4 == 3) made.l1 = 1e-4F;
  if (which % 6 == 5) made.l2 = 1e-3F;
  made.constant = which % 5 != 4;
  return made;
}

const std::vector<std::vector<std::string>> kProducts = {
    {}, {"ab"}, {"ab", "bc"}, {"aa"}, {"abc", "cu"}, {"bb", "uu"}, {"aab", "ab"}, {"cu"}, {"abcu"}};

// A model's life: born at some example, perhaps as a copy, perhaps stopped.
struct Life {
  std::uint32_t born, dies, which;
  int from;
};

// With `simple`, all have VW's defaults but for rates and products: the kernels have a short way for that.
std::vector<Life> lives(Rng& rng, std::uint32_t count, std::uint32_t examples, bool simple) {
  static const std::uint32_t simple_ones[] = {0, 20, 30, 45, 50};
  std::vector<Life> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t born = i < 3 ? 0 : rng.below(examples);
    const std::uint32_t dies = rng.chance(3) ? born + rng.below(examples) : examples;
    const std::uint32_t which = simple ? simple_ones[rng.below(5)] : rng.below(60);
    all.push_back({born, dies, which, rng.chance(3) ? static_cast<int>(rng.below(3)) : -1});
  }
  for (std::size_t i = 0; i < 3; ++i) all[i] = {0, examples, all[i].which, -1};
  return all;
}

// All predictions of all lives, bits and final weights, as one text per life.
std::vector<std::string> live_together(int bits, const char* kernel, const std::vector<std::string>& lines,
                                       const std::vector<Life>& all) {
  Crowd crowd(bits, kernel);
  std::vector<std::string> told(all.size());
  std::vector<std::uint32_t> lane(all.size());
  for (std::uint32_t t = 0; t < lines.size(); ++t) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].dies == t && all[i].born < t) {
        told[i] += crowd.picture(lane[i]);
        crowd.bank.stop(lane[i]);
      }
      if (all[i].born != t) continue;
      const int from = all[i].from < 0 || t == 0 ? -1 : static_cast<int>(lane[static_cast<std::size_t>(all[i].from)]);
      lane[i] = crowd.start(options(all[i].which), kProducts[all[i].which % kProducts.size()], from);
    }
    if (t % 7 == 3) crowd.predict(0, lines[(t * 5) % lines.size()]);
    crowd.learn(lines[t]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].born > t || (all[i].dies <= t && all[i].born < all[i].dies)) continue;
      told[i] += print("%a\n", static_cast<double>(crowd.predictions[lane[i]]));
      CHECK(std::isfinite(crowd.predictions[lane[i]]));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].dies >= lines.size() || all[i].dies <= all[i].born) told[i] += crowd.picture(lane[i]);
  }
  return told;
}

std::vector<std::string> stream(std::uint64_t seed, int n) {
  Rng rng(seed);
  std::vector<std::string> lines;
  for (int i = 0; i < n; ++i) lines.push_back(i > 0 && rng.chance(6) ? lines.back() : random_line(rng, true, true));
  return lines;
}

}  // namespace

TEST(all_kernels_give_the_same_bits) {
  for (const int bits : {3, 6, 18, 31, 32}) {
    for (const std::uint32_t count : {3U, 4U, 6U, 7U, 14U, 15U, 30U, 31U}) {
      Rng rng(static_cast<std::uint64_t>(bits) * 100 + count);
      const auto lines = stream(rng.bits(), 150);
      const auto all = lives(rng, count, 150, count % 2 == 1);
      const auto plain = live_together(bits, "plain", lines, all);
      for (const char* kernel : {"avx2", "avx512"}) {
        if (kernel_named(kernel) != nullptr) CHECK(live_together(bits, kernel, lines, all) == plain);
      }
    }
  }
}

TEST(a_model_in_a_crowd_learns_as_if_alone) {
  for (const int bits : {3, 4, 8, 9, 18, 19}) {
    Rng rng(static_cast<std::uint64_t>(bits));
    const auto lines = stream(rng.bits(), 200);
    std::vector<Life> all = lives(rng, 20, 200, bits % 2 == 1);
    for (Life& life : all) life.from = -1;
    const auto together = live_together(bits, best_kernel()->name, lines, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK_EQ(live_together(bits, "plain", lines, {all[i]})[0], together[i]);
    }
  }
}

TEST(a_copy_equals_its_source) {
  for (const int bits : {4, 18}) {
    Crowd crowd(bits);
    const auto lines = stream(11, 120);
    const std::uint32_t source = crowd.start(options(3), {"ab", "uu"});
    const std::uint32_t other = crowd.start(options(1), {"bc"});
    for (int i = 0; i < 60; ++i) crowd.learn(lines[static_cast<std::size_t>(i)]);
    const std::uint32_t copy = crowd.start(options(3), {"ab", "uu"}, static_cast<int>(source));
    CHECK_EQ(crowd.picture(copy), crowd.picture(source));
    for (int i = 60; i < 120; ++i) {
      crowd.learn(lines[static_cast<std::size_t>(i)]);
      CHECK(check::same(crowd.predictions[copy], crowd.predictions[source]));
    }
    CHECK_EQ(crowd.picture(copy), crowd.picture(source));
    CHECK(crowd.picture(copy) != crowd.picture(other));
  }
}

TEST(a_stopped_and_restarted_model_is_empty) {
  Crowd crowd(18);
  const auto lines = stream(12, 80);
  const std::uint32_t kept = crowd.start(options(0), {"ab"});
  const std::uint32_t first = crowd.start(options(5), {"ab", "cu"});
  for (const std::string& line : lines) crowd.learn(line);
  CHECK(!picture(crowd.bank.dump(first)).empty());
  crowd.bank.stop(first);
  CHECK_EQ(crowd.bank.live(), 1U);
  const std::uint32_t again = crowd.start(options(2), {"ab", "cu"});  // with initial_t
  CHECK_EQ(again, first);
  CHECK_EQ(picture(crowd.bank.dump(again)), std::string());
  Crowd fresh(18);
  const std::uint32_t alone = fresh.start(options(2), {"ab", "cu"});
  for (const std::string& line : lines) {
    crowd.learn(line);
    fresh.learn(line);
    CHECK(check::same(crowd.predictions[again], fresh.predictions[alone]));
  }
  CHECK_EQ(crowd.picture(again), fresh.picture(alone));
  CHECK(crowd.picture(kept) != crowd.picture(again));
}

TEST(what_one_model_had_alone_moves_when_another_needs_it) {
  for (const int bits : {5, 18}) {
    const auto lines = stream(13, 150);
    Crowd crowd(bits), alone(bits);
    const std::uint32_t first = crowd.start(options(0), {"ab"});
    alone.start(options(0), {"ab"});
    std::uint32_t second = 0;
    for (std::size_t t = 0; t < lines.size(); ++t) {
      if (t == 50) second = crowd.start(options(1), {"ab"});
      if (t == 100) crowd.bank.stop(second);
      if (t % 5 == 2) crowd.predict(first, lines[t]);
      crowd.learn(lines[t]);
      alone.learn(lines[t]);
      CHECK(check::same(crowd.predictions[first], alone.predictions[0]));
    }
    CHECK_EQ(crowd.picture(first), alone.picture(0));
  }
}

TEST(predicting_changes_nothing) {
  Crowd crowd(6);
  const auto lines = stream(14, 60);
  crowd.start(options(0), {"ab"});
  crowd.start(options(1), {"ab", "uu"});
  for (const std::string& line : lines) crowd.learn(line);
  const std::string before = crowd.picture(0) + crowd.picture(1);
  const float first = crowd.predict(1, lines[0]);
  CHECK(std::isfinite(crowd.predict(1, "|a never seen |b before |user x:3")));
  CHECK(check::same(crowd.predict(1, lines[0]), first));
  CHECK_EQ(crowd.picture(0) + crowd.picture(1), before);
}

TEST(what_was_dumped_can_be_loaded) {
  const auto lines = stream(15, 160);
  Crowd crowd(18), other(18);
  crowd.start(options(3), {"bc"});
  const std::uint32_t model = crowd.start(options(5), {"ab", "cu"});
  const std::uint32_t loaded = other.start(options(5), {"ab", "cu"});
  for (int i = 0; i < 80; ++i) {
    crowd.learn(lines[static_cast<std::size_t>(i)]);
    other.learn(lines[static_cast<std::size_t>(i / 3)]);  // what is there before does not matter
  }
  other.bank.load(loaded, crowd.bank.dump(model));
  other.bank.set_state(loaded, crowd.bank.state(model));
  CHECK_EQ(other.picture(loaded), crowd.picture(model));
  for (int i = 80; i < 160; ++i) {
    crowd.learn(lines[static_cast<std::size_t>(i)]);
    other.learn(lines[static_cast<std::size_t>(i)]);
    CHECK(check::same(crowd.predictions[model], other.predictions[loaded]));
  }
}

TEST(a_bank_has_256_lanes) {
  Crowd crowd(18);
  for (std::uint32_t i = 0; i < 256; ++i) CHECK_EQ(crowd.start(options(i), kProducts[i % kProducts.size()]), i);
  CHECK_THROWS(crowd.start(options(0), {}), std::length_error);
  const auto lines = stream(16, 20);
  for (const std::string& line : lines) crowd.learn(line);
  for (std::uint32_t i = 0; i < 256; ++i) CHECK(std::isfinite(crowd.predictions[i]));
  Crowd alone(18);
  alone.start(options(200), kProducts[200 % kProducts.size()]);
  for (const std::string& line : lines) alone.learn(line);
  CHECK(check::same(alone.predictions[0], crowd.predictions[200]));
}

TEST(too_many_products_are_refused) {
  Crowd crowd(4);
  crowd.start(Options(), {"aaaaaa"});
  std::string line = "1 |a";
  for (int i = 0; i < 80; ++i) line += print(" %d", i);
  CHECK_THROWS(crowd.learn(line), std::length_error);
  crowd.learn("1 |a x");
  CHECK(std::isfinite(crowd.predict(0, "|a x")));
}

TEST(an_idle_bank_is_small) {
  Crowd crowd(31);
  CHECK(crowd.bank.bytes() < 8192);
  crowd.start(Options(), {"ab"});
  crowd.learn("1 |a x |b y");
  CHECK(crowd.bank.bytes() < 16384);
}
