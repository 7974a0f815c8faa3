// The last labels: a ring, their spread, and whether a few are much larger than the others.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "rules/recent_labels.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

RecentLabels of(const std::vector<double>& all) {
  RecentLabels labels;
  for (const double label : all) labels.add(label);
  return labels;
}

// Labels around `centre`: from -2 to 2 units away.
std::vector<double> around(double centre, double unit, int n) {
  std::vector<double> all;
  for (int i = 0; i < n; ++i) all.push_back(centre + unit * (i % 5 - 2));
  return all;
}

}  // namespace

TEST(recent_labels_are_the_last_ones) {
  RecentLabels labels;
  std::array<double, RecentLabels::kKept> copied{};
  CHECK_EQ(labels.copy(RecentLabels::kMost, copied.data()), std::size_t{0});
  for (std::size_t n = 1; n <= 200; ++n) {
    labels.add(static_cast<double>(n));
    CHECK_EQ(labels.count(), n);
    CHECK_EQ(labels.last(), static_cast<double>(n));
    for (const std::size_t wanted : {std::size_t{1}, std::size_t{12}, RecentLabels::kKept}) {
      copied.fill(-1.0);
      const std::size_t found = labels.copy(wanted, copied.data());
      CHECK_EQ(found, std::min(n, wanted));
      for (std::size_t i = 0; i < found; ++i) CHECK_EQ(copied[i], static_cast<double>(n - i));
      if (found < copied.size()) CHECK_EQ(copied[found], -1.0);
    }
  }
}

TEST(labels_are_beyond_a_scale_if_they_spread_eight_times_as_far) {
  LabelMap map;
  map.scaled = true;
  for (const double unit : {1e-9, 1.0, 1e12}) {
    const auto all = around(7.0 * unit, unit, 65);  // one more than those that are looked at
    map.scale = unit / 8.0;
    CHECK(of(all).beyond(map));
    map.scale = unit;
    CHECK(!of(all).beyond(map));
    map.scale = 0.0;  // not known: nothing is learned on it
    CHECK(of(all).beyond(map));
    CHECK(!of(around(7.0 * unit, unit, 64)).beyond(map));  // too few
  }
  map.log = true;
  map.scale = 0.5;
  CHECK(!of(around(100.0, 10.0, 65)).beyond(map));
  CHECK(of(around(0.0, 1e9, 65)).beyond(map));
}

TEST(labels_are_skewed_if_the_largest_is_far_away_and_the_smallest_is_not) {
  std::vector<double> all = around(10.0, 1.0, 64);
  CHECK(!of(all).skewed());
  all[20] = 18.0;  // four times as far as the smallest
  CHECK(!of(all).skewed());
  all[20] = 18.1;
  CHECK(of(all).skewed());
  all[40] = 7.0;  // it is farther, too
  CHECK(!of(all).skewed());
  all = around(10.0, 1.0, 64);
  all[20] = -1000.0;
  CHECK(!of(all).skewed());
}

TEST(a_few_labels_do_not_show_whether_they_are_skewed) {
  std::vector<double> all = around(10.0, 1.0, static_cast<int>(RecentLabels::kFewest) - 2);
  all.push_back(1000.0);
  CHECK(!of(all).skewed());
  all.push_back(10.0);
  CHECK(of(all).skewed());
}

TEST(a_large_label_that_is_long_ago_does_not_count) {
  RecentLabels labels = of(around(10.0, 1.0, 64));
  labels.add(1000.0);
  for (const double label : around(10.0, 1.0, 63)) labels.add(label);
  CHECK(labels.skewed());
  labels.add(10.0);
  CHECK(!labels.skewed());
}

TEST(equal_labels_are_not_skewed_until_one_is_larger) {
  std::vector<double> all(64, 5.0);
  CHECK(!of(all).skewed());
  all.back() = 6.0;
  CHECK(of(all).skewed());
  all.back() = 4.0;
  CHECK(!of(all).skewed());
}

TEST(neither_unit_nor_zero_of_labels_matters_to_their_skew) {
  Rng rng(1);
  int skewed = 0;
  for (int i = 0; i < 400; ++i) {
    RecentLabels plain, other;
    for (int n = 0; n < 64; ++n) {
      const double label = std::floor(std::exp(6.0 * rng.real() * rng.real()));
      plain.add(label);
      other.add(std::ldexp(label - 77.0, 20));
    }
    CHECK_EQ(other.skewed(), plain.skewed());
    skewed += plain.skewed() ? 1 : 0;
  }
  CHECK(skewed > 40 && skewed <= 400);
}
