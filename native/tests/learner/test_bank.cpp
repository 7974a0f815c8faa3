// A bank: every kernel gives the same bits, and models that live together do not interfere.
#include <cmath>

#include "learner/live_bank.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

Options options_of(std::uint32_t which) {
  static const LossKind losses[] = {LossKind::kSquared, LossKind::kLogistic, LossKind::kQuantile,
                                    LossKind::kPoisson, LossKind::kHinge};
  Options options;
  options.loss.kind = losses[which % 5];
  options.learning_rate = 0.1F + 0.2F * static_cast<float>(which % 4);
  if (which % 3 == 1) options.power_t = 0.3F;
  if (which % 7 == 2) options.initial_t = 1.5F;
  if (which % 4 == 3) options.l1 = 1e-4F;
  if (which % 6 == 5) options.l2 = 1e-3F;
  options.constant = which % 5 != 4;
  return options;
}

const std::vector<std::vector<std::string>> kProducts = {
    {}, {"ab"}, {"ab", "bc"}, {"aa"}, {"abc", "cu"}, {"bb", "uu"}, {"aab", "ab"}, {"cu"}, {"abcu"}};

// A model's life: born at some example, perhaps as a copy, perhaps stopped.
struct Life {
  std::uint32_t born, dies, which;
  int from;
};

// With `simple`, all have VW's defaults but for rates and products: the kernels have a short way
// for that.
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
std::vector<std::string> live_together(int bits, const char* kernel,
                                       const std::vector<std::string>& lines,
                                       const std::vector<Life>& all) {
  LiveBank models(bits, kernel);
  std::vector<std::string> records(all.size());
  std::vector<std::uint32_t> lane(all.size());
  for (std::uint32_t t = 0; t < lines.size(); ++t) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].dies == t && all[i].born < t) {
        records[i] += models.picture(lane[i]);
        models.bank.stop(lane[i]);
      }
      if (all[i].born != t) continue;
      const int from = all[i].from < 0 || t == 0
                           ? -1
                           : static_cast<int>(lane[static_cast<std::size_t>(all[i].from)]);
      lane[i] =
          models.start(options_of(all[i].which), kProducts[all[i].which % kProducts.size()], from);
    }
    if (t % 7 == 3) models.predict(0, lines[(t * 5) % lines.size()]);
    models.learn(lines[t]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].born > t || (all[i].dies <= t && all[i].born < all[i].dies)) continue;
      records[i] += print("%a\n", static_cast<double>(models.predictions[lane[i]]));
      CHECK(std::isfinite(models.predictions[lane[i]]));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].dies >= lines.size() || all[i].dies <= all[i].born)
      records[i] += models.picture(lane[i]);
  }
  return records;
}

std::vector<std::string> stream(std::uint64_t seed, int n) {
  Rng rng(seed);
  std::vector<std::string> lines;
  for (int i = 0; i < n; ++i)
    lines.push_back(i > 0 && rng.chance(6) ? lines.back() : random_line(rng, true, true));
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
        if (kernel_named(kernel) != nullptr)
          CHECK(live_together(bits, kernel, lines, all) == plain);
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
    LiveBank models(bits);
    const auto lines = stream(11, 120);
    const std::uint32_t source = models.start(options_of(3), {"ab", "uu"});
    const std::uint32_t other = models.start(options_of(1), {"bc"});
    for (int i = 0; i < 60; ++i) models.learn(lines[static_cast<std::size_t>(i)]);
    const std::uint32_t copy = models.start(options_of(3), {"ab", "uu"}, static_cast<int>(source));
    CHECK_EQ(models.picture(copy), models.picture(source));
    for (int i = 60; i < 120; ++i) {
      models.learn(lines[static_cast<std::size_t>(i)]);
      CHECK(check::same(models.predictions[copy], models.predictions[source]));
    }
    CHECK_EQ(models.picture(copy), models.picture(source));
    CHECK(models.picture(copy) != models.picture(other));
  }
}

TEST(a_stopped_and_restarted_model_is_empty) {
  LiveBank models(18);
  const auto lines = stream(12, 80);
  const std::uint32_t other = models.start(options_of(0), {"ab"});
  const std::uint32_t first = models.start(options_of(5), {"ab", "cu"});
  for (const std::string& line : lines) models.learn(line);
  CHECK(!picture(models.bank.dump(first)).empty());
  models.bank.stop(first);
  CHECK_EQ(models.bank.live(), 1U);
  const std::uint32_t again = models.start(options_of(2), {"ab", "cu"});  // with initial_t
  CHECK_EQ(again, first);
  CHECK_EQ(picture(models.bank.dump(again)), std::string());
  LiveBank fresh(18);
  const std::uint32_t alone = fresh.start(options_of(2), {"ab", "cu"});
  for (const std::string& line : lines) {
    models.learn(line);
    fresh.learn(line);
    CHECK(check::same(models.predictions[again], fresh.predictions[alone]));
  }
  CHECK_EQ(models.picture(again), fresh.picture(alone));
  CHECK(models.picture(other) != models.picture(again));
}

TEST(what_one_model_had_alone_moves_when_another_needs_it) {
  for (const int bits : {5, 18}) {
    const auto lines = stream(13, 150);
    LiveBank models(bits), alone(bits);
    const std::uint32_t first = models.start(options_of(0), {"ab"});
    alone.start(options_of(0), {"ab"});
    std::uint32_t second = 0;
    for (std::size_t t = 0; t < lines.size(); ++t) {
      if (t == 50) second = models.start(options_of(1), {"ab"});
      if (t == 100) models.bank.stop(second);
      if (t % 5 == 2) models.predict(first, lines[t]);
      models.learn(lines[t]);
      alone.learn(lines[t]);
      CHECK(check::same(models.predictions[first], alone.predictions[0]));
    }
    CHECK_EQ(models.picture(first), alone.picture(0));
  }
}

TEST(predicting_changes_nothing) {
  LiveBank models(6);
  const auto lines = stream(14, 60);
  models.start(options_of(0), {"ab"});
  models.start(options_of(1), {"ab", "uu"});
  for (const std::string& line : lines) models.learn(line);
  const std::string before = models.picture(0) + models.picture(1);
  const float first = models.predict(1, lines[0]);
  CHECK(std::isfinite(models.predict(1, "|a never seen |b before |user x:3")));
  CHECK(check::same(models.predict(1, lines[0]), first));
  CHECK_EQ(models.picture(0) + models.picture(1), before);
}

TEST(what_was_dumped_can_be_loaded) {
  const auto lines = stream(15, 160);
  LiveBank models(18), other(18);
  models.start(options_of(3), {"bc"});
  const std::uint32_t model = models.start(options_of(5), {"ab", "cu"});
  const std::uint32_t loaded = other.start(options_of(5), {"ab", "cu"});
  for (int i = 0; i < 80; ++i) {
    models.learn(lines[static_cast<std::size_t>(i)]);
    other.learn(lines[static_cast<std::size_t>(i / 3)]);  // what is there before does not matter
  }
  other.bank.load(loaded, models.bank.dump(model));
  other.bank.set_state(loaded, models.bank.state(model));
  CHECK_EQ(other.picture(loaded), models.picture(model));
  for (int i = 80; i < 160; ++i) {
    models.learn(lines[static_cast<std::size_t>(i)]);
    other.learn(lines[static_cast<std::size_t>(i)]);
    CHECK(check::same(models.predictions[model], other.predictions[loaded]));
  }
}

TEST(a_bank_has_256_lanes) {
  LiveBank models(18);
  for (std::uint32_t i = 0; i < 256; ++i)
    CHECK_EQ(models.start(options_of(i), kProducts[i % kProducts.size()]), i);
  CHECK_THROWS(models.start(options_of(0), {}), std::length_error);
  const auto lines = stream(16, 20);
  for (const std::string& line : lines) models.learn(line);
  for (std::uint32_t i = 0; i < 256; ++i) CHECK(std::isfinite(models.predictions[i]));
  LiveBank alone(18);
  alone.start(options_of(200), kProducts[200 % kProducts.size()]);
  for (const std::string& line : lines) alone.learn(line);
  CHECK(check::same(alone.predictions[0], models.predictions[200]));
}

TEST(too_many_products_are_refused) {
  LiveBank models(4);
  models.start(Options(), {"aaaaaa"});
  std::string line = "1 |a";
  for (int i = 0; i < 80; ++i) line += print(" %d", i);
  CHECK_THROWS(models.learn(line), std::length_error);
  models.learn("1 |a x");
  CHECK(std::isfinite(models.predict(0, "|a x")));
}

TEST(an_idle_bank_is_small) {
  LiveBank models(31);
  CHECK(models.bank.bytes() < 8192);
  models.start(Options(), {"ab"});
  models.learn("1 |a x |b y");
  CHECK(models.bank.bytes() < 16384);
}
