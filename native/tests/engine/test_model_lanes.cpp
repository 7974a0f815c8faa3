// Which lanes a model has: numbers are given again, incarnations are not.
#include <stdexcept>
#include <string>
#include <vector>

#include "data/text_parser.hpp"
#include "engine/model_lanes.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

struct Models {
  Groups groups;
  ModelLanes lanes{groups, kernel_named("plain")};
  Example example;
  std::vector<std::uint32_t> empty;

  std::uint32_t start(int bits, float rate = 0.5F, int from = -1) {
    Options options;
    options.learning_rate = rate;
    return lanes.start(bits, options, {}, from, 0.0F);
  }
  void learn(const std::string& line) {
    read(line, true);
    lanes.learn(example);
  }
  void predict(const std::string& line) {
    read(line, false);
    lanes.predict(example);
  }

 private:
  void read(const std::string& line, bool learning) {
    CHECK(parse_line(line, groups, example));
    example.order_runs(groups, empty);
    for (const auto& bank : lanes.banks()) bank->expand(example, learning);
  }
};

}  // namespace

TEST(a_model_gets_the_least_free_number) {
  Models models;
  CHECK_EQ(models.lanes.next_number(), 0U);
  for (std::uint32_t number = 0; number < 5; ++number) {
    CHECK_EQ(models.lanes.next_number(), number);
    CHECK_EQ(models.start(number % 2 == 0 ? 18 : 10), number);
  }
  models.lanes.stop(3);
  models.lanes.stop(1);
  CHECK(!models.lanes.is_live(1) && models.lanes.is_live(2) && !models.lanes.is_live(3));
  CHECK_EQ(models.start(18), 1U);
  CHECK_EQ(models.start(18), 3U);
  CHECK_EQ(models.start(18), 5U);
}

TEST(an_incarnation_is_never_given_again) {
  Models models;
  const std::uint32_t model = models.start(18);
  std::uint64_t last = models.lanes.incarnation(model);
  CHECK(last > 0);
  for (int i = 0; i < 5; ++i) {
    models.lanes.stop(model);
    CHECK_THROWS(models.lanes.incarnation(model), std::out_of_range);
    CHECK_EQ(models.start(18), model);
    CHECK(models.lanes.incarnation(model) > last);
    last = models.lanes.incarnation(model);
  }
  const std::uint32_t other = models.start(18);
  CHECK(models.lanes.incarnation(other) > last);
  CHECK_EQ(models.lanes.incarnation(model), last);
}

TEST(a_model_that_begins_again_is_another_incarnation) {
  Models models;
  const std::uint32_t a = models.start(18), b = models.start(18);
  const std::uint64_t other = models.lanes.incarnation(b);
  models.lanes.restart(a, LabelMap());
  CHECK(models.lanes.incarnation(a) > other);
  CHECK_EQ(models.lanes.incarnation(b), other);
}

TEST(models_of_the_same_bits_share_a_bank) {
  Models models;
  const std::uint32_t a = models.start(18), b = models.start(10), c = models.start(18);
  CHECK_EQ(models.lanes.banks().size(), 2U);
  CHECK(&models.lanes.bank(a) == &models.lanes.bank(c));
  CHECK(&models.lanes.bank(a) != &models.lanes.bank(b));
  CHECK(models.lanes.lane(a) != models.lanes.lane(c));
  CHECK_EQ(models.lanes.bank(b).bits(), 10);
  models.lanes.stop(b);
  CHECK_EQ(models.lanes.banks().size(), 1U);
  models.lanes.stop(a);
  CHECK_EQ(models.lanes.banks().size(), 1U);
  models.lanes.stop(c);
  CHECK_EQ(models.lanes.banks().size(), 0U);
}

TEST(a_model_that_does_not_start_leaves_nothing) {
  Models models;
  const std::uint32_t model = models.start(18);
  CHECK_THROWS(models.start(10, 0.5F, 7), std::out_of_range);
  CHECK_THROWS(models.start(10, 0.5F, static_cast<int>(model)), std::invalid_argument);
  CHECK_EQ(models.lanes.banks().size(), 1U);
  CHECK_EQ(models.lanes.next_number(), 1U);
  for (int i = 1; i < 256; ++i) models.start(18);
  CHECK_THROWS(models.start(18), std::length_error);
  CHECK_EQ(models.lanes.next_number(), 256U);
  CHECK_THROWS(models.lanes.stop(256), std::out_of_range);
}

TEST(every_model_has_the_prediction_of_its_lane) {
  Models models;
  std::vector<std::uint32_t> numbers;
  for (int i = 0; i < 9; ++i) {
    numbers.push_back(models.start(i % 3 == 2 ? 10 : 18, 0.1F + 0.1F * static_cast<float>(i)));
  }
  Rng rng(5);
  for (int t = 0; t < 60; ++t) {
    if (t == 30) models.lanes.stop(numbers[4]);
    models.learn(print("%.3f |a x:%.3f y:%.3f", rng.real() * 9, rng.real(), rng.real()));
  }
  const std::string line = "1 |a x:0.3 y:0.2";
  models.predict(line);
  CHECK(check::same(models.lanes.raw(numbers[4]), 0.0));
  std::vector<double> raw;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    raw.push_back(models.lanes.raw(numbers[i]));
    if (i == 4) continue;
    std::vector<float> by_lane(256);
    models.lanes.bank(numbers[i]).predict(models.example, by_lane.data());
    CHECK(check::same(raw[i], static_cast<double>(by_lane[models.lanes.lane(numbers[i])])));
    for (std::size_t j = 0; j < i; ++j) CHECK(j == 4 || raw[j] != raw[i]);
  }
  models.learn(line);  // predicts first
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CHECK(check::same(models.lanes.raw(numbers[i]), raw[i]));
  }
}
