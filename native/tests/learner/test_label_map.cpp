// Labels as a model learns them: there and back, on any scale, and as logarithms.
#include <cmath>
#include <vector>

#include "learner/label_map.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

Example labelled(double y, double base = 0.0, float weight = 1.0F) {
  Example example;
  example.set_label(y);
  example.base = base;
  example.weight = weight;
  return example;
}

LabelMap scaled(double shift, double scale) {
  LabelMap map;
  map.scaled = true;
  map.shift = shift;
  map.scale = scale;
  return map;
}

LabelMap logarithm(double low, double unit, double shift = 0.0, double scale = 1.0) {
  LabelMap map = scaled(shift, scale);
  map.log = true;
  map.low = low;
  map.unit = unit;
  return map;
}

double learned(const LabelMap& map, double y, double base = 0.0) {
  return static_cast<double>(map.to_learner(labelled(y, base)));
}

void check_near(double a, double b, double tolerance) {
  if (!(std::fabs(a - b) <= tolerance)) CHECK_EQ(a, b);
}

// A corrected map, whose model predicts the logarithm of e for labels with v + 1 = factor·e.
LabelMap observed(double factor, double e, int n) {
  LabelMap map = logarithm(0.0, 1.0);
  map.corrected = true;
  for (int i = 0; i < n; ++i) map.observe(labelled(factor * e - 1.0), std::log(e));
  return map;
}

}  // namespace

TEST(without_a_scale_to_learn_on_labels_are_learned_as_they_are) {
  LabelMap map;
  Example example = labelled(7.0);
  example.label = 3.0F;  // VW's
  CHECK_EQ(map.to_learner(example), 3.0F);
  CHECK_EQ(map.to_user(2.5, 100.0), 2.5);
}

TEST(labels_are_learned_in_units_of_their_scale) {
  const LabelMap map = scaled(10.0, 4.0);
  CHECK_EQ(learned(map, 10.0), 0.0);
  CHECK_EQ(learned(map, 18.0), 2.0);
  CHECK_EQ(learned(map, 4.0), -1.5);
  CHECK_EQ(map.to_user(2.0, 0.0), 18.0);
  CHECK_EQ(map.to_user(-1.5, 0.0), 4.0);
}

TEST(what_the_label_adds_to_an_initial_prediction_is_learned) {
  const LabelMap map = scaled(2.0, 4.0);
  CHECK_EQ(learned(map, 110.0, 100.0), 2.0);
  CHECK_EQ(map.to_user(2.0, 100.0), 110.0);
  const LabelMap log = logarithm(2.0, 4.0, 0.5, 0.25);
  CHECK_EQ(learned(log, 113.0, 100.0), learned(log, 13.0));
  CHECK_EQ(log.to_user(2.0, 100.0), 100.0 + log.to_user(2.0, 0.0));
}

TEST(nothing_is_learned_on_an_unknown_scale) {
  const LabelMap map = scaled(7.0, 0.0);
  CHECK_EQ(learned(map, 1e9), 0.0);
  CHECK_EQ(map.to_user(0.0, 0.0), 7.0);
  const LabelMap log = logarithm(7.0, 1.0, 0.0, 0.0);
  CHECK_EQ(learned(log, 1e9), 0.0);
  CHECK_EQ(log.to_user(0.0, 0.0), 7.0);
}

TEST(the_first_label_that_differs_shows_the_scale) {
  LabelMap map = scaled(7.0, 0.0);
  map.find_scale(7.0);
  CHECK_EQ(map.scale, 0.0);
  map.find_scale(4.0);
  CHECK_EQ(map.scale, 3.0);
  CHECK_EQ(learned(map, 4.0), -1.0);
  map.find_scale(1000.0);
  CHECK_EQ(map.scale, 3.0);  // later ones do not
}

TEST(the_first_label_that_differs_shows_the_unit_of_logarithms) {
  for (const double other : {10.0, 4.0}) {
    LabelMap map = logarithm(7.0, 1.0, 0.0, 0.0);
    map.find_scale(7.0);
    CHECK_EQ(map.scale, 0.0);
    CHECK_EQ(map.unit, 1.0);
    map.find_scale(other);
    CHECK_EQ(map.unit, 3.0);
    CHECK_EQ(map.scale, std::log1p(1.0));
    CHECK_EQ(learned(map, other), other > 7.0 ? 1.0 : -1.0);
    map.find_scale(1e6);
    CHECK_EQ(map.unit, 3.0);
    CHECK_EQ(map.scale, std::log1p(1.0));
  }
  LabelMap known = logarithm(7.0, 2.0, 0.0, 0.5);
  known.find_scale(100.0);
  CHECK(known.unit == 2.0 && known.scale == 0.5);
}

TEST(logarithms_are_mirrored_below_the_lowest_label) {
  const LabelMap map = logarithm(10.0, 5.0);
  CHECK_EQ(map.mapped(10.0), 0.0);
  CHECK_EQ(map.mapped(15.0), std::log(2.0));
  CHECK_EQ(map.mapped(5.0), -std::log(2.0));
  for (const double further : {0.01, 1.0, 40.0, 1e9}) {
    CHECK_EQ(map.mapped(10.0 - further), -map.mapped(10.0 + further));
    check_near(map.to_user(-2.0, 0.0) - 10.0, -(map.to_user(2.0, 0.0) - 10.0), 1e-12);
  }
}

TEST(a_logarithm_is_shifted_and_scaled_like_a_label) {
  const LabelMap map = logarithm(0.0, 1.0, 2.0, 0.5);
  check_near(learned(map, std::exp(3.0) - 1.0), 2.0, 1e-6);
  check_near(map.to_user(2.0, 0.0), std::exp(3.0) - 1.0, 1e-12);
  check_near(map.to_user(-4.0, 0.0), 0.0, 1e-12);
}

TEST(a_label_comes_back_from_any_map) {
  Rng rng(1);
  for (int i = 0; i < 5000; ++i) {
    const double unit = std::ldexp(1.0 + rng.real(), static_cast<int>(rng.below(80)) - 40);
    const double low = unit * (rng.real() - 0.5) * 20.0;
    const double y = low + unit * (rng.real() - 0.3) * (rng.chance(2) ? 4.0 : 1000.0);
    const double far = unit + std::fabs(y - low) + std::fabs(low);
    const LabelMap linear = scaled(low, unit);
    check_near(linear.to_user(learned(linear, y), 0.0), y, 1e-6 * far);
    const LabelMap log = logarithm(low, unit, 2.0 * rng.real(), 0.5 + rng.real());
    check_near(log.to_user((log.mapped(y) - log.shift) / log.scale, 0.0), y, 1e-13 * far);
    check_near(log.to_user(learned(log, y), 0.0), y, 2e-6 * far);
  }
}

TEST(labels_that_are_too_far_away_count_as_the_farthest) {
  const LabelMap map = scaled(0.0, 1e-30);
  CHECK_EQ(learned(map, 1e30), LabelMap::kMost);
  CHECK_EQ(learned(map, -1e30), -LabelMap::kMost);
  CHECK_EQ(learned(scaled(3e38, 5e-324), -3e38), -LabelMap::kMost);  // not even a double holds it
  CHECK_EQ(learned(map, 1e-22), 1e8);
  const LabelMap log = logarithm(0.0, 1e-300, 0.0, 1e-300);
  CHECK_EQ(learned(log, 3e38), LabelMap::kMost);
  CHECK_EQ(learned(log, -3e38), -LabelMap::kMost);
}

TEST(powers_of_two_change_no_bit_of_a_map) {
  Rng rng(2);
  for (int i = 0; i < 500; ++i) {
    const double shift = rng.real(), scale = rng.real() + 0.1, low = rng.real(), unit = rng.real();
    const double y = rng.real() * 30.0 - 10.0, base = rng.real(), raw = rng.real() * 4.0 - 1.0;
    for (const int power : {-60, -1, 3, 60}) {
      const auto larger = [power](double x) { return std::ldexp(x, power); };
      const LabelMap linear = scaled(shift, scale);
      const LabelMap other = scaled(larger(shift), larger(scale));
      CHECK_EQ(learned(other, larger(y), larger(base)), learned(linear, y, base));
      CHECK_EQ(other.to_user(raw, larger(base)), larger(linear.to_user(raw, base)));
      LabelMap log = logarithm(low, unit, shift, scale);  // the logarithms have no unit
      LabelMap other_log = logarithm(larger(low), larger(unit), shift, scale);
      CHECK_EQ(learned(other_log, larger(y), larger(base)), learned(log, y, base));
      log.corrected = other_log.corrected = true;
      log.observe(labelled(y, base), raw);
      other_log.observe(labelled(larger(y), larger(base)), raw);
      CHECK_EQ(other_log.correction(), log.correction());
      CHECK_EQ(other_log.to_user(raw, larger(base)), larger(log.to_user(raw, base)));
    }
  }
}

TEST(the_correction_is_that_of_least_squares) {
  CHECK_EQ(observed(2.0, 3.0, 0).correction(), 1.0);
  for (const int n : {1, 5, 300}) {
    const double count = (1.0 - std::pow(LabelMap::kDecay, n)) / (1.0 - LabelMap::kDecay);
    const double prior = LabelMap::kPrior / count;
    for (const double factor : {0.5, 1.0, 2.0}) {
      const LabelMap map = observed(factor, 3.0, n);
      check_near(map.count, count, 1e-9);
      check_near(map.correction(), (factor + prior) / (1.0 + prior), 1e-12);
    }
  }
  LabelMap map = observed(0.0, 1.0, 0);  // 1 is predicted as 2, and 9 as 3
  map.corrected = true;
  for (int i = 0; i < 400; ++i) {
    map.observe(labelled(0.0), std::log(2.0));
    map.observe(labelled(8.0), std::log(3.0));
  }
  check_near(map.correction(), (1.0 * 2.0 + 9.0 * 3.0) / (2.0 * 2.0 + 3.0 * 3.0), 0.02);
}

TEST(the_correction_forgets_old_examples_and_has_limits) {
  LabelMap map = observed(3.0, 2.0, 3000);
  check_near(map.correction(), 3.0, 0.03);
  for (int i = 0; i < 6000; ++i) map.observe(labelled(1.0), std::log(2.0));
  check_near(map.correction(), 1.0, 0.02);
  CHECK_EQ(observed(100.0, 2.0, 100).correction(), LabelMap::kLargest);
  CHECK_EQ(observed(0.0, 2.0, 1000).correction(), 1.0 / LabelMap::kLargest);
}

TEST(a_prediction_above_the_lowest_label_is_corrected) {
  const LabelMap map = observed(2.0, 3.0, 500);
  const double factor = map.correction();
  CHECK(factor > 1.9);
  check_near(map.to_user(std::log(3.0), 0.0), factor * 3.0 - 1.0, 1e-12);
  const LabelMap plain = logarithm(0.0, 1.0);
  CHECK_EQ(map.to_user(-0.5, 0.0), plain.to_user(-0.5, 0.0));
}

TEST(nothing_is_corrected_on_an_unknown_scale) {
  LabelMap map = logarithm(7.0, 1.0, 0.0, 0.0);
  map.corrected = true;
  for (int i = 0; i < 20; ++i) map.observe(labelled(2.0), 0.0);  // cut
  CHECK_EQ(map.count, 0.0);
  CHECK_EQ(map.to_user(0.0, 0.0), 7.0);
  map.find_scale(10.0);
  map.observe(labelled(10.0), 0.0);
  CHECK_EQ(map.count, 1.0);
  CHECK_EQ(map.products, 2.0);
}

TEST(only_some_examples_count_towards_the_correction) {
  LabelMap map = logarithm(0.0, 1.0);
  map.observe(labelled(9.0), 1.0);  // there is no correction
  CHECK_EQ(map.count, 0.0);
  map.corrected = true;
  map.observe(labelled(9.0, 0.0, 0.0F), 1.0);
  CHECK_EQ(map.count, 0.0);
  map.observe(labelled(9.0), -0.1);  // the prediction is below the lowest label
  CHECK_EQ(map.count, 0.0);
  map.observe(labelled(9.0), 0.0);
  CHECK_EQ(map.count, 1.0);
  CHECK_EQ(map.products, 10.0);
  map.observe(labelled(109.0, 100.0, 5.0F), 0.0);  // weights do not count
  CHECK_EQ(map.count, 1.0 + LabelMap::kDecay);
  CHECK_EQ(map.products, 10.0 * LabelMap::kDecay + 10.0);
}
