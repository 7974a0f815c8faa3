// Statistics of a column: knots, values, and how they grow.
#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

#include "features/column_stats.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

using Doubles = std::vector<double>;

std::string show(const Doubles& values) {
  std::string all;
  for (const double value : values) all += (all.empty() ? "" : " ") + short_text(value);
  return all;
}

ColumnStats ready(const Doubles& first) {
  ColumnStats stats;
  stats.reserve(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(!stats.ready());
    CHECK_EQ(stats.observe(first[i]), i + 1 == first.size());
  }
  CHECK(stats.ready());
  return stats;
}

// The numbers from `first` to `last`, shuffled.
Doubles mixed(int first, int last) {
  Doubles values;
  for (int i = first; i <= last; ++i) values.push_back(static_cast<double>(i));
  Rng rng(7);
  for (auto i = static_cast<std::uint32_t>(values.size()); i > 1; --i)
    std::swap(values[i - 1], values[rng.below(i)]);
  return values;
}

// The number of values until the knots change; 0 if they do not.
int until_changed(ColumnStats& stats, double value, int most) {
  for (int i = 1; i <= most; ++i) {
    if (stats.observe(value)) return i;
  }
  return 0;
}

// A naive implementation of features/column_stats.hpp.
struct Naive {
  std::size_t first;
  Doubles sample, further, outside, values;
  bool is_ready = false;
  double low = 0.0, high = 0.0;
  std::size_t outsiders = 0, since = 0, stride = 1, extensions = 0;

  static std::size_t distinct(Doubles all) {
    std::sort(all.begin(), all.end());
    return static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
  }
  bool evenly_spaced() const {
    const double from = sample.front(), span = sample.back() - from;
    for (int steps = 1; steps <= 365; ++steps) {
      std::set<double> places;
      bool fits = true;
      for (const double value : sample) {
        const double place = (value - from) / span * steps;
        places.insert(std::round(place));
        fits = fits && std::fabs(place - std::round(place)) < 0.001;
      }
      if (fits && places.size() == distinct(sample)) return true;
    }
    return false;
  }
  bool codes() const {
    const std::size_t count = distinct(sample);
    const bool few = is_ready && count > 1 && count <= 64;
    std::size_t once = 0;
    for (const double one : sample) once += std::count(sample.begin(), sample.end(), one) == 1;
    return few && (4 * once <= count || evenly_spaced());
  }
  bool add_value(double value) {
    const bool fresh =
        values.size() < 64 && std::find(values.begin(), values.end(), value) == values.end();
    if (fresh) values.push_back(value);
    return fresh;
  }
  bool observe(double value) {
    if (!is_ready) {
      sample.push_back(value);
      is_ready = sample.size() == first;
      if (!is_ready) return false;
      for (const double one : sample) add_value(one);
      std::sort(sample.begin(), sample.end());
      low = sample.front();
      high = sample.back();
      return true;
    }
    bool changed = false;
    ++since;
    if ((value < low || value > high) && extensions < 16) {
      if (outsiders % stride == 0) outside.push_back(value);
      ++outsiders;
      if (outside.size() == 64) changed = extend();
    }
    return (codes() && add_value(value)) || changed;
  }
  bool extend() {
    const bool common = 20 * outsiders >= since;
    Doubles below, above;
    for (const double value : outside) (value < low ? below : above).push_back(value);
    for (Doubles* side : {&below, &above}) {
      if (!common || side->size() < 16) continue;
      std::sort(side->begin(), side->end());
      for (std::size_t j = 0; j < 4; ++j)
        further.push_back((*side)[knot_position(j, 4, side->size())]);
      low = std::min(low, side->front());
      high = std::max(high, side->back());
    }
    extensions += common ? 1 : 0;
    stride *= common ? 2 : 1;
    outside.clear();
    outsiders = since = 0;
    return common;
  }
  Doubles knots(std::size_t k) const {
    Doubles found = further;
    for (std::size_t j = 0; j < (distinct(sample) <= k ? sample.size() : k); ++j) {
      found.push_back(distinct(sample) <= k ? sample[j]
                                            : sample[knot_position(j, k, sample.size())]);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
};

}  // namespace

TEST(knots_are_quantiles) {
  const ColumnStats stats = ready(mixed(1, 101));
  CHECK_EQ(show(stats.knots(5)), "1 26 51 76 101");
  CHECK_EQ(show(stats.knots(2)), "1 101");
  CHECK_EQ(show(stats.knots(3)), "1 51 101");
  CHECK(stats.numeric() && stats.steps() == 0 && !stats.codes());
  CHECK_EQ(stats.distinct(), 101U);
  CHECK(stats.least() == 1.0 && stats.largest() == 101.0 && stats.median() == 51.0);
}

TEST(few_values_are_their_own_knots) {
  const ColumnStats stats = ready({3, 1, 2.5, 3, 1, 3, 3, 2.5});
  CHECK_EQ(stats.distinct(), 3U);
  CHECK_EQ(show(stats.knots(3)), "1 2.5 3");
  CHECK_EQ(show(stats.knots(16)), "1 2.5 3");
  CHECK_EQ(show(stats.knots(2)), "1 3");
  CHECK(stats.numeric() && stats.steps() == 4 && stats.codes());
}

TEST(ties_give_one_knot) {
  Doubles values(90, 5.0);
  for (int i = 0; i < 10; ++i) values.push_back(static_cast<double>(i) + 10.0);
  const ColumnStats stats = ready(values);
  CHECK_EQ(show(stats.knots(5)), "5 19");
  const ColumnStats same = ready(Doubles(20, 2.0));
  CHECK(!same.numeric() && !same.codes());
  CHECK_EQ(show(same.knots(16)), "2");
  const ColumnStats two = ready({1, 2, 1, 2});
  CHECK(!two.numeric() && two.codes());  // nothing lies between two values
}

TEST(knots_are_added_at_the_upper_end) {
  ColumnStats stats = ready(mixed(1, 99));
  for (int i = 0; i < 63; ++i) CHECK(!stats.observe(100.0 + static_cast<double>(i)));
  CHECK_EQ(show(stats.knots(2)), "1 99");
  CHECK(stats.observe(163.0));
  CHECK_EQ(show(stats.knots(2)), "1 99 100 121 142 163");
  for (int i = 1; i <= 163; ++i)
    CHECK(!stats.observe(static_cast<double>(i)));  // they lie between knots now
}

TEST(knots_are_added_at_both_ends) {
  ColumnStats stats = ready(mixed(1, 99));
  bool changed = false;
  for (int i = 0; i < 64; ++i) {
    CHECK(!changed);
    changed = stats.observe(static_cast<double>(i % 2 == 0 ? -i : 100 + i));
  }
  CHECK(changed);
  CHECK_EQ(show(stats.knots(2)), "-62 -42 -20 0 1 99 101 121 143 163");
  ColumnStats one_side = ready(mixed(1, 99));
  for (int i = 0; i < 64; ++i) one_side.observe(i < 15 ? -5.0 : 150.0);  // 15 are too few for knots
  CHECK_EQ(show(one_side.knots(2)), "1 99 150");
}

TEST(exceptions_give_no_knots) {
  ColumnStats stats = ready(mixed(1, 99));
  for (int i = 0; i < 64 * 40; ++i) CHECK(!stats.observe(i % 40 == 0 ? 1000.0 : 7.0));
  CHECK_EQ(show(stats.knots(2)), "1 99");
  // Then counting starts over: earlier values do not delay the answer to a change of the stream.
  CHECK_EQ(until_changed(stats, 1000.0, 100), 64);
  CHECK_EQ(show(stats.knots(2)), "1 99 1000");
}

TEST(each_extension_needs_twice_as_many_values) {
  ColumnStats stats = ready(mixed(1, 99));
  int stride = 1;
  for (int k = 1; k <= 12; ++k) {
    // One of every `stride` is kept: the last of 64 comes with this one.
    CHECK_EQ(until_changed(stats, 1000.0 * static_cast<double>(k), 64 * stride), 63 * stride + 1);
    CHECK_EQ(stats.knots(2).size(), static_cast<std::size_t>(2 + k));
    stride *= 2;
  }
}

TEST(there_are_at_most_16_extensions) {
  ColumnStats stats = ready({1, 1.41421, 1.73205, 2});
  int extensions = 0;
  double edge = 10.0;
  for (int i = 0; i < 64 * 65536 + 1000; ++i) {
    if (!stats.observe(edge)) continue;
    ++extensions;
    edge *= 2.0;
  }
  CHECK_EQ(extensions, 16);
  const Doubles knots = stats.knots(16);
  CHECK_EQ(knots.size(), std::size_t{4 + 16});
  CHECK_EQ(until_changed(stats, 1e30, 100000), 0);
  CHECK(stats.knots(16) == knots);
}

TEST(codes_are_a_few_values) {
  CHECK(ready(mixed(0, 63)).codes());
  CHECK(!ready(mixed(0, 64)).codes());
  CHECK(ready({-3, -1, -3}).codes());
  CHECK(ready({1, 2, 2.5}).codes());
  CHECK(!ready({1, 1.41421, 1.73205, 2}).codes());
  Doubles often;  // if they are repeated, they need not be evenly spaced
  for (int i = 0; i < 16; ++i) often.push_back(std::sqrt(static_cast<double>(i % 4 + 1)));
  CHECK(ready(often).codes() && ready(often).steps() == 0);
  CHECK(!ready({4, 4, 4}).codes());
  CHECK(ready({16777216.0, 3e30}).codes());
  ColumnStats stats = ready({3, 1, 3, 2});
  CHECK_EQ(show(stats.values()), "3 1 2");  // in the order of their appearance
  CHECK(!stats.observe(2.0));
  CHECK(stats.observe(9.0));
  CHECK(stats.observe(0.5));  // what the first values were decides
  CHECK(!stats.observe(9.0));
  CHECK_EQ(show(stats.values()), "3 1 2 9 0.5");
  for (int i = 0; i < 59; ++i) CHECK(stats.observe(100.0 + static_cast<double>(i)));
  CHECK_EQ(stats.values().size(), kMostValues);
  ColumnStats all = ready(mixed(0, 63));
  CHECK(!all.observe(64.0));  // no further value is distinguished
  CHECK_EQ(all.values().size(), kMostValues);
  ColumnStats no_codes = ready(mixed(0, 80));
  CHECK(!no_codes.observe(81.0));
}

TEST(a_value_is_found_among_others) {
  for (std::uint32_t size = 0; size <= 70; ++size) {
    Doubles values;
    for (std::uint32_t i = 0; i < size; ++i) values.push_back(static_cast<double>(i) * 1.5 - 20.0);
    for (std::uint32_t i = 0; i < size; ++i) CHECK_EQ(find_value(values, values[i]), i + 1);
    CHECK_EQ(find_value(values, 0.25), 0U);
  }
}

TEST(knots_of_the_other_sign_are_mirrored) {
  for (std::size_t n = 2; n < 70; ++n) {
    for (std::size_t k = 2; k <= n; ++k) {
      CHECK_EQ(knot_position(0, k, n), 0U);
      CHECK_EQ(knot_position(k - 1, k, n), n - 1);
      for (std::size_t j = 1; j < k; ++j) {
        CHECK(knot_position(j - 1, k, n) < knot_position(j, k, n));
        if (2 * j + 1 == k) continue;  // the middle one
        CHECK_EQ(knot_position(j, k, n), n - 1 - knot_position(k - 1 - j, k, n));
      }
    }
  }
}

TEST(stats_are_what_a_naive_count_gives) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(100 + seed);
    const std::size_t first = rng.below(40) + 1;
    ColumnStats stats;
    stats.reserve(first);
    Naive naive{};
    naive.first = first;
    const double wander = rng.chance(2) ? 0.02 : 0.0;
    const bool whole = rng.chance(2);
    const std::uint32_t values = rng.below(100) + 1;
    for (int i = 0; i < 4000; ++i) {
      double x = rng.below(values) * (rng.chance(30) ? -3.0 : 1.0) + wander * i;
      if (!whole) x += rng.real();
      const auto value = static_cast<double>(whole ? std::floor(x) : x);
      CHECK_EQ(stats.observe(value), naive.observe(value));
      if (i % 97 == 0 && stats.ready()) {
        for (const std::size_t k : {2, 3, 16, 64})
          CHECK_EQ(show(stats.knots(k)), show(naive.knots(k)));
      }
    }
    CHECK_EQ(stats.codes(), naive.codes());
    CHECK_EQ(stats.distinct(), static_cast<std::uint32_t>(Naive::distinct(naive.sample)));
    if (stats.codes()) CHECK_EQ(show(stats.values()), show(naive.values));
  }
}

// Neither an added constant, nor a factor, nor the sign matters.
TEST(steps_are_those_of_the_values_in_any_unit) {
  Rng rng(11);
  for (int i = 0; i < 400; ++i) {
    const std::uint32_t steps = rng.below(365) + 1;
    std::set<std::uint32_t> places = {0, 1, steps};
    for (std::uint32_t k = rng.below(61); k > 0; --k) places.insert(rng.below(steps));
    const double factor = (rng.chance(2) ? 1.0 : -1.0) * std::pow(10.0, rng.real() * 8.0 - 4.0);
    const double more = (rng.real() - 0.5) * 1e6 * factor;
    Doubles values, singles;
    for (const std::uint32_t place : places) {
      values.push_back(place * factor + more);
      singles.push_back(static_cast<double>(static_cast<float>(place * factor)));
    }
    for (Doubles* all : {&values, &singles}) {
      std::sort(all->begin(), all->end());
      CHECK_EQ(steps_of(all->data(), all->data() + all->size()), steps);
    }
  }
  const Doubles wide = {-1e308, 0.0, 1e308};  // further apart than the largest number
  CHECK_EQ(steps_of(wide.data(), wide.data() + wide.size()), 0U);
}

// `reserve` makes all the room that is ever needed: `observe` must not fail.
TEST(stats_do_not_grow) {
  ColumnStats stats;
  stats.reserve(50);
  const std::size_t before = stats.bytes();
  Rng rng(3);
  double edge = 10.0;
  for (int i = 0; i < 200000; ++i) {
    if (stats.observe(static_cast<double>(rng.below(2) == 0 ? edge : -edge))) edge *= 1.5;
  }
  CHECK(stats.knots(2).size() > 20);
  CHECK_EQ(stats.bytes(), before);
}

TEST(numbers_in_names_read_back_exactly) {
  Rng rng(5);
  for (int i = 0; i < 200000; ++i) {
    const auto bits = static_cast<std::uint32_t>(rng.bits());
    float value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const std::string text = short_text(static_cast<double>(value));
    CHECK(check::same(std::strtof(text.c_str(), nullptr), value));
    CHECK(text.size() <= 15);  // short enough that a string needs no memory of its own
    CHECK(text.find_first_not_of("0123456789+-e.") == std::string::npos);
  }
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t bits = rng.bits();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!(std::fabs(value) < 3e38)) continue;
    const std::string text = short_text(value);
    CHECK(check::same(std::strtod(text.c_str(), nullptr), value));
    CHECK(text.size() <= kLongestNumber);
  }
  for (int i = 0; i < 20000; ++i) {  // such as people write
    const double size = std::pow(10.0, static_cast<double>(rng.below(8)) - 4.0);
    const std::string text = print("%.4g", (rng.real() - 0.5) * size);
    CHECK_EQ(short_text(std::strtod(text.c_str(), nullptr)), text);
  }
  CHECK_EQ(short_text(static_cast<double>(24.0F)), "24");
  CHECK_EQ(short_text(static_cast<double>(-0.1F)), "-0.1");
  CHECK_EQ(short_text(static_cast<double>(16777217.0F)), "16777216");
  CHECK_EQ(short_text(static_cast<double>(1e10F)), "1e+10");
  CHECK_EQ(short_text(static_cast<double>(1.0F / 3.0F)), "0.33333334");
  CHECK_EQ(short_text(0.1), "0.1");
  CHECK_EQ(short_text(1700000000.25), "1700000000.25");
}

TEST(numbers_in_names_do_not_hang_on_the_locale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8"}) {
    if (std::setlocale(LC_NUMERIC, locale) == nullptr) continue;  // this machine does not have it
    CHECK_EQ(short_text(static_cast<double>(-0.125F)), "-0.125");
    CHECK_EQ(short_text(static_cast<double>(1.5e-7F)), "1.5e-07");
    CHECK_EQ(short_text(static_cast<double>(1.0F / 3.0F)), "0.33333334");
    CHECK_EQ(short_text(static_cast<double>(24.0F)), "24");
  }
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST(packed_stats_are_the_same_in_less_memory) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const std::size_t first = rng.below(300) + 2;
    ColumnStats stats, packed;
    const double scale = std::pow(10.0, static_cast<double>(rng.below(60)) - 30.0);
    const bool whole = rng.chance(2);
    for (ColumnStats* one : {&stats, &packed}) one->reserve(first);
    for (std::size_t i = 0; i < first + 2000; ++i) {
      const double x = (rng.real() - 0.5) * scale * (rng.chance(9) ? 1e6 : 1.0);
      const auto value = rng.chance(20) ? -0.0 : static_cast<double>(whole ? std::floor(x) : x);
      CHECK_EQ(packed.observe(value), stats.observe(value));
      packed.pack();  // before there are enough values, and after
    }
    for (const std::size_t k : {2, 3, 16, 64, 1024}) {
      const Doubles expected = stats.knots(k), knots = packed.knots(k);
      CHECK_EQ(knots.size(), expected.size());
      for (std::size_t i = 0; i < knots.size(); ++i) CHECK(check::same(knots[i], expected[i]));
    }
    CHECK(check::same(packed.least(), stats.least()));
    CHECK(check::same(packed.largest(), stats.largest()));
    CHECK(check::same(packed.median(), stats.median()));
  }
  ColumnStats column;
  column.reserve(256);
  Rng rng(1);
  for (int i = 0; i < 256; ++i) column.observe(static_cast<double>(rng.real() * 8 - 4));
  const std::size_t before = column.bytes();
  column.pack();
  CHECK(column.bytes() + 200 < before);
}

// Room is made for a few values at a time, whatever comes.
TEST(stats_never_grow_beyond_their_room) {
  for (const std::size_t more : {1, 3, 20, 200}) {
    Rng rng(more);
    ColumnStats stats;
    stats.begin(50);
    std::size_t bytes = 0;
    double edge = 10.0;
    for (int i = 0; i < 60000; ++i) {
      if (stats.room() == 0) {
        stats.make_room(more);
        bytes = stats.bytes();
      }
      const bool far = rng.below(2) == 0;
      const bool grown = stats.observe(static_cast<double>(far ? edge : -edge));
      if (grown) edge = std::floor(edge * 1.5);
      CHECK(stats.bytes() <= bytes);
    }
    CHECK(stats.knots(2).size() > 20);
  }
}
