// Centre and scale of some numbers: what they are, and that a few wild numbers move neither far.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/spread.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

using Doubles = std::vector<double>;

Spread spread(Doubles values) { return spread_of(values.data(), values.size()); }

// The same with all deviations listed and sorted.
Spread naive(Doubles values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  double centre = values[half];
  if (values.size() % 2 == 0) {
    centre = values[half - 1] + (values[half] - values[half - 1]) * 0.5;
  }
  Doubles others;
  for (const double value : values) {
    if (value != centre) others.push_back(std::fabs(value - centre));
  }
  if (others.empty()) return {centre, 0.0};
  std::sort(others.begin(), others.end());
  const double most = 6.0 * others[others.size() / 2];
  double sum = 0.0;
  for (const double value : values) {
    const double share = std::min(std::fabs(value - centre), most) / most;
    sum += share * share;
  }
  return {centre, most * std::sqrt(sum / static_cast<double>(values.size()))};
}

void check_same(const Spread& a, const Spread& b) {
  CHECK_EQ(a.centre, b.centre);
  CHECK_EQ(a.scale, b.scale);
}

void check_near(double a, double b) {
  if (!(std::fabs(a - b) <= 1e-12 * std::fabs(b))) CHECK_EQ(a, b);
}

// Some numbers, of which many may be equal, and a few are wild.
Doubles random_numbers(Rng& rng) {
  Doubles values;
  const std::uint32_t kinds = rng.below(3);
  for (std::uint32_t n = rng.below(70) + 1; n > 0; --n) {
    double value = kinds == 0 ? static_cast<double>(rng.below(3)) : rng.real() - 0.5;
    if (kinds == 1) value = std::floor(value * 64.0);
    values.push_back(rng.chance(9) ? value * 1e9 : value);
  }
  return values;
}

}  // namespace

TEST(the_centre_of_numbers_is_their_median) {
  CHECK_EQ(spread({7.0}).centre, 7.0);
  CHECK_EQ(spread({9.0, 1.0, 5.0}).centre, 5.0);
  CHECK_EQ(spread({9.0, 1.0, 5.0, 2.0}).centre, 3.5);
  CHECK_EQ(spread({-4.0, -1.0}).centre, -2.5);
}

TEST(the_scale_of_numbers_is_their_standard_deviation) {
  CHECK_EQ(spread({1.0, 3.0}).scale, 1.0);
  check_near(spread({-2.0, -1.0, 0.0, 1.0, 2.0}).scale, std::sqrt(2.0));
  check_near(spread({1.0, 2.0, 4.0, 9.0}).scale, std::sqrt((4.0 + 1.0 + 1.0 + 36.0) / 4.0));
}

// The median deviation is 2.5 here, so that of a billion counts as 15.
TEST(deviations_beyond_six_median_deviations_are_cut) {
  const Spread wild = spread({-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 1e9});
  CHECK_EQ(wild.centre, 0.5);
  check_near(wild.scale, std::sqrt((29.75 + 225.0) / 8.0));
  const Spread far = spread({-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 15.5});  // exactly as far
  check_near(far.scale, wild.scale);
}

TEST(numbers_at_the_centre_do_not_count_towards_the_median_deviation) {
  Doubles values(63, 4.0);
  values.push_back(12.0);
  check_same(spread(values), {4.0, 1.0});  // 8 away, one in 64
}

TEST(only_equal_numbers_have_no_scale) {
  check_same(spread({3.0}), {3.0, 0.0});
  check_same(spread({0.1, 0.1, 0.1}), {0.1, 0.0});
  check_same(spread({-0.0, 0.0}), {0.0, 0.0});
  check_same(spread(Doubles(64, 1e300)), {1e300, 0.0});
  Rng rng(1);
  for (int i = 0; i < 2000; ++i) {
    const Doubles values = random_numbers(rng);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    CHECK_EQ(spread(values).scale > 0.0, *low < *high);
  }
}

TEST(a_spread_is_that_of_a_plain_computation) {
  Rng rng(2);
  for (int i = 0; i < 5000; ++i) {
    const Doubles values = random_numbers(rng);
    check_same(spread(values), naive(values));
  }
}

TEST(the_order_of_numbers_does_not_matter) {
  Rng rng(3);
  for (int i = 0; i < 500; ++i) {
    Doubles values = random_numbers(rng);
    const Spread before = spread(values);
    std::reverse(values.begin(), values.end());
    std::swap(values.front(), values[values.size() / 3]);
    check_same(spread(values), before);
  }
}

TEST(one_wild_number_moves_a_spread_little) {
  for (const std::size_t n : {8U, 16U, 64U}) {
    Doubles values;
    for (std::size_t i = 0; i < n; ++i) {
      values.push_back((static_cast<double>(2 * i + 1) / static_cast<double>(n) - 1.0) * 2.0);
    }
    const Spread plain = spread(values);
    for (const double wild : {1e9, -1e9, 1e300}) {
      values.front() = wild;
      const Spread moved = spread(values);
      CHECK(std::fabs(moved.centre - plain.centre) < 4.01 / static_cast<double>(n));
      CHECK(moved.scale > plain.scale && moved.scale < 3.0 * plain.scale);
    }
  }
}

TEST(powers_of_two_scale_a_spread_to_the_bit) {
  Rng rng(5);
  for (int i = 0; i < 500; ++i) {
    const Doubles values = random_numbers(rng);
    const Spread plain = spread(values);
    for (const int power : {-300, -7, 1, 40, 300}) {
      Doubles scaled;
      for (const double value : values) scaled.push_back(std::ldexp(value, power));
      check_same(spread(scaled), {std::ldexp(plain.centre, power), std::ldexp(plain.scale, power)});
    }
  }
}

// The squares are summed up from the other end, so the last bits of the scale may differ.
TEST(the_sign_mirrors_a_spread) {
  Rng rng(6);
  for (int i = 0; i < 2000; ++i) {
    Doubles values = random_numbers(rng);
    for (double& value : values) value = std::floor(value);  // differences are exact
    const Spread plain = spread(values);
    for (double& value : values) value = -value;
    const Spread mirrored = spread(values);
    CHECK_EQ(mirrored.centre, -plain.centre);
    check_near(mirrored.scale, plain.scale);
  }
}

// Their squares are out of range.
TEST(tiny_and_huge_numbers_have_a_finite_scale) {
  const Doubles values = {-3.0, -1.0, 0.5, 2.0, 7.0, 9.0};
  const Spread plain = spread(values);
  for (const double unit : {1e-300, 1e300}) {
    Doubles scaled;
    for (const double value : values) scaled.push_back(value * unit);
    const Spread found = spread(scaled);
    CHECK(std::isfinite(found.centre) && std::isfinite(found.scale));
    check_near(found.centre / unit, plain.centre);
    check_near(found.scale / unit, plain.scale);
  }
  const Spread both = spread({1e-300, 2e-300, 3e-300, 1e300});
  CHECK(both.scale > 1e-301 && both.scale < 1e-298);
}
