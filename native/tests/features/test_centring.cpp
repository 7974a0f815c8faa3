// Numeric columns, less their centre and in units of their scale: which ones, and how.
#include <cmath>
#include <limits>
#include <vector>

#include "features/centring.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kAside = 0x1p-12;

struct Cell {
  std::uint32_t group, hash;
  double number;  // or kWords
};
using Row = std::vector<Cell>;

// A row of a table; cells of a group are neighbours.
Example example_of(const Row& row) {
  Example example;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool first = i == 0 || row[i].group != row[i - 1].group;
    if (first) example.open(row[i].group, static_cast<unsigned char>(row[i].group));
    if (is_words(row[i].number)) {
      example.add(row[i].hash, 1.0F);
    } else {
      example.add_number(row[i].hash, row[i].number);
    }
    example.add_reads();
    if (i + 1 == row.size() || row[i + 1].group != row[i].group) example.close();
  }
  return example;
}

void observe(Centring& centring, const Row& row) {
  const Example example = example_of(row);
  centring.prepare(example);
  centring.observe(example);
}

// Centres as the given rows show them.
Centring fitted(const std::vector<Row>& rows) {
  Centring centring;
  centring.turn_on();
  for (const Row& row : rows) observe(centring, row);
  centring.fit();
  return centring;
}

Centring fitted(const std::vector<double>& column) {
  std::vector<Row> rows;
  for (const double number : column) rows.push_back({{0, 1, number}});
  return fitted(rows);
}

Centre centre_of(const std::vector<double>& column) { return fitted(column).of(0, 1); }

void check_centre(const Centre& found, double centre, double inverse) {
  CHECK_EQ(found.centre, centre);
  CHECK_EQ(found.inverse, inverse);
}

void check_as_read(const Centre& found) { check_centre(found, 0.0, 1.0); }

std::string picture(const Example& example) {
  std::string all;
  for (const Run& run : example.runs) {
    all += print("|%u", run.group);
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      all += print(" %u:%.9g(%g)", example.hashes[i], static_cast<double>(example.values[i]),
                   example.read[i]);
    }
  }
  return all;
}

}  // namespace

TEST(a_column_is_centred_at_its_median_moved_towards_the_longer_tail) {
  CHECK(centre_of({5.0, 5.0, 9.0, 10.0}).centre > 7.0);
  CHECK(centre_of({-5.0, -5.0, -9.0, -10.0}).centre < -7.0);
  check_centre(centre_of({10.0, 14.0}), 12.0 + 2.0 * kAside, 0.5);  // both are equally long:
  check_centre(centre_of({14.0, 10.0}), 12.0 - 2.0 * kAside, 0.5);  // away from the first number
}

TEST(a_column_that_is_mostly_one_number_is_centred_there) {
  check_centre(centre_of({0.0, 0.0, 0.0, 8.0}), 0.0, 0.25);
  check_centre(centre_of({5.0, 5.0, 5.0, 9.0}), 5.0, 0.5);
  CHECK_EQ(centre_of({0.0, -0.0, 8.0}).centre, 0.0);
  CHECK(centre_of({0.0, 0.0, 8.0, 8.0}).centre > 4.0);  // half of it is not most of it
}

TEST(equal_numbers_are_at_the_centre) {
  check_centre(centre_of({7.0}), 7.0, kInfinite);
  const Centre same = centre_of({7.0, 7.0, 7.0});
  check_centre(same, 7.0, kInfinite);
  CHECK(same.of(7.0) == 0.0F && same.of(9e9) == 1.0F && same.of(6.5) == -1.0F);
  CHECK(is_absent(same.of(kNan)));
  CHECK(same.waits() && !same.waits_for(7.0) && !same.waits_for(kNan) && same.waits_for(6.5));
  check_centre(same.found(7.0), 7.0, kInfinite);
  check_centre(same.found(3.0), 7.0, 0.25);
  check_centre(same.found(3.0).found(0.0), 7.0, 0.25);
  const Centre tiny = centre_of({1e-320, 2e-320});
  check_centre(tiny, 1.5e-320, kInfinite);
  CHECK(tiny.of(1e-320) == 0.0F && !tiny.waits_for(2e-320));  // as floats, both are 0
}

TEST(a_column_is_centred_if_every_first_row_has_it) {
  const Centring centring = fitted(std::vector<Row>{
      {{0, 1, 10.0}, {0, 2, 20.0}, {1, 1, kNan}, {1, 2, kWords}, {1, 3, 3.0}},
      {{0, 1, 14.0}, {0, 2, kNan}, {1, 1, kNan}, {1, 2, kWords}, {1, 4, 5.0}},
  });
  check_centre(centring.of(0, 1), 12.0 + 2.0 * kAside, 0.5);
  check_centre(centring.of(0, 2), 20.0, kInfinite);  // an empty cell is no number
  check_centre(centring.of(1, 1), 0.0, 0.0);         // it never is one
  check_as_read(centring.of(1, 3));                  // it is gone
  check_as_read(centring.of(1, 4));                  // it was late
  check_as_read(centring.of(1, 2));
  CHECK_EQ(centring.size(), std::size_t{5});  // words are no column
  check_as_read(centring.of(1, 99));
}

TEST(a_column_that_came_back_is_not_centred) {
  std::vector<Row> rows = {{{0, 1, 10.0}, {0, 2, 1.0}}, {{0, 2, 2.0}}};
  for (int i = 0; i < 20; ++i) rows.push_back({{0, 1, 10.0 + i}, {0, 2, 3.0}});
  const Centring centring = fitted(rows);
  check_as_read(centring.of(0, 1));
  CHECK(centring.of(0, 2).centre > 1.0);
}

TEST(a_row_that_has_a_column_twice_counts_it_once) {
  const Centring centring =
      fitted(std::vector<Row>{{{0, 1, 10.0}, {0, 1, 99.0}}, {{0, 1, 14.0}, {0, 1, 14.0}}});
  check_centre(centring.of(0, 1), 12.0 + 2.0 * kAside, 0.5);
}

TEST(groups_have_columns_of_their_own) {
  Row row;
  for (std::uint32_t group = 0; group < 40; ++group) {
    for (std::uint32_t hash = 0; hash < 25; ++hash)
      row.push_back({group, hash, group + 0.001 * hash});
  }
  const Centring centring = fitted(std::vector<Row>{row, row});
  CHECK_EQ(centring.size(), row.size());
  for (const Cell& cell : row)
    check_centre(centring.of(cell.group, cell.hash), cell.number, kInfinite);
  const std::vector<Centring::View> columns = centring.columns();
  CHECK_EQ(columns.size(), row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    CHECK(columns[i].group == row[i].group && columns[i].hash == row[i].hash);
    CHECK_EQ(columns[i].centre.centre, row[i].number);
  }
}

TEST(centres_are_found_anew_until_they_are_finished) {
  Centring centring;
  centring.turn_on();
  check_as_read(centring.of(0, 1));
  observe(centring, {{0, 1, 3.0}});
  check_as_read(centring.of(0, 1));  // not before `fit`
  const std::uint64_t begun = centring.version();
  centring.fit();
  CHECK(centring.version() != begun);
  check_centre(centring.of(0, 1), 3.0, kInfinite);
  observe(centring, {{0, 1, 7.0}});
  centring.fit();
  check_centre(centring.of(0, 1), 5.0 + 2.0 * kAside, 0.5);
  const std::uint64_t fitted_once_more = centring.version();
  const std::size_t bytes = centring.bytes();
  centring.finish();
  CHECK(centring.version() != fitted_once_more);
  CHECK(centring.bytes() < bytes);  // what the rows showed is not kept
  for (int i = 0; i < 5; ++i) observe(centring, {{0, 1, 1000.0}, {0, 2, 5.0}});
  centring.fit();
  check_centre(centring.of(0, 1), 5.0 + 2.0 * kAside, 0.5);
  CHECK_EQ(centring.size(), std::size_t{1});
}

// Such a row could not be learned, because memory ran out.
TEST(a_row_that_is_prepared_and_never_observed_does_not_count) {
  for (const int times : {1, 3}) {
    Centring centring;
    centring.turn_on();
    for (int i = 0; i < times; ++i) centring.prepare(example_of({{0, 1, 77.0}, {0, 2, 5.0}}));
    observe(centring, {{0, 1, 10.0}});
    for (int i = 0; i < times; ++i) centring.prepare(example_of({{0, 1, 77.0}, {0, 3, 5.0}}));
    observe(centring, {{0, 1, 14.0}});
    centring.fit();
    check_centre(centring.of(0, 1), 12.0 + 2.0 * kAside, 0.5);
    check_as_read(centring.of(0, 2));
    check_as_read(centring.of(0, 3));
  }
}

TEST(applied_centres_leave_out_what_is_at_the_centre_or_missing) {
  const Centring centring = fitted(std::vector<Row>{
      {{0, 1, 3.0}, {0, 2, 0.0}, {0, 3, kWords}, {1, 4, 9.0}, {2, 5, 0.0}},
      {{0, 1, 7.0}, {0, 2, 4.0}, {0, 3, kWords}, {1, 4, 9.0}, {2, 5, 0.0}},
  });
  Example usual = example_of({{0, 1, 3.0}, {0, 2, 0.0}, {0, 3, kWords}, {1, 4, 9.0}, {2, 5, 6.0}});
  centring.apply(usual);
  CHECK_EQ(picture(usual), "|0 1:-1.00024414(3) 2:-1.00024414(0) 3:1(inf)|1|2 5:1(6)");
  Example other = example_of(
      {{0, 1, kNan}, {0, 2, -0.0}, {0, 3, kWords}, {1, 4, 9.5}, {2, 9, 2.0}, {2, 8, 0.0}});
  centring.apply(other);
  CHECK_EQ(picture(other), "|0 2:-1.00024414(-0) 3:1(inf)|1 4:1(9.5)|2 9:2(2)");
  CHECK_EQ(other.hashes.size(), std::size_t{4});
  CHECK_EQ(other.values.size(), std::size_t{4});
  CHECK_EQ(other.read.size(), std::size_t{4});
  CHECK(check::same(other.as_read(0), 0.0));  // -0 is 0
  CHECK_EQ(other.as_read(2), 9.5);
}

TEST(any_number_counts_as_1_before_the_first_row_has_shown_centres) {
  Centring centring;
  centring.turn_on();
  const Row row = {{0, 1, 0.0}, {0, 2, -7.5}, {0, 3, kNan}, {1, 4, kWords}};
  Example first = example_of(row);
  centring.apply(first);
  CHECK_EQ(picture(first), "|0 1:1(0) 2:1(-7.5)|1 4:1(inf)");
  CHECK(!centring.knows_centres());
  observe(centring, row);
  centring.fit();
  CHECK(centring.knows_centres() && Centring().knows_centres());
  Example second = example_of({{0, 1, 0.0}, {0, 2, -7.5}, {0, 3, kNan}, {1, 4, kWords}});
  centring.apply(second);
  CHECK_EQ(picture(second), "|0|1 4:1(inf)");
}

TEST(text_is_not_centred_and_neither_is_anything_without_centring) {
  const std::vector<Row> rows = {{{0, 1, 3.0}, {0, 2, kNan}}, {{0, 1, 7.0}, {0, 2, 5.0}}};
  Centring off;
  for (const Row& row : rows) observe(off, row);
  off.fit();
  Example example = example_of(rows[0]);
  off.apply(example);
  CHECK_EQ(example.hashes.size(), std::size_t{2});
  CHECK_EQ(example.values[0], 3.0F);
  Example text = example_of(rows[0]);
  text.read.clear();
  fitted(rows).apply(text);
  CHECK_EQ(text.hashes.size(), std::size_t{2});
  CHECK_EQ(text.values[0], 3.0F);
  CHECK_EQ(fitted(rows).on() && !off.on(), true);
}

TEST(centred_numbers_are_always_finite) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  Rng rng(1);
  const auto any = [&] {
    const int power = static_cast<int>(rng.below(276)) - 149;
    return std::ldexp(rng.real() * 2.0 - 1.0, rng.chance(4) ? 127 : power);
  };
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> column;
    for (std::uint32_t n = rng.below(20) + 1; n > 0; --n) column.push_back(any());
    const Centre centre = centre_of(column);
    CHECK(centre.inverse > 0.0 && std::isfinite(centre.centre));
    for (const double x : {any(), any(), 0.0, kLargest, -kLargest, 5e-324, column[0]}) {
      CHECK(std::isfinite(centre.of(x)) && std::isfinite(centre.found(x).of(column[0])));
    }
  }
  const Centre narrow = centre_of({1.0, 1.0 + 1e-15});
  CHECK_EQ(narrow.of(kLargest), std::numeric_limits<float>::max());
  CHECK_EQ(narrow.of(-kLargest), -std::numeric_limits<float>::max());
}

TEST(a_column_of_the_other_sign_is_the_mirror_image) {
  Rng rng(2);
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> column, mirrored;
    for (std::uint32_t n = rng.below(60) + 1; n > 0; --n) {
      column.push_back(std::floor(std::exp(5.0 * rng.real())) - 20.0);
    }
    if (rng.chance(3)) {  // both tails are equally long
      for (std::size_t n = column.size(); n > 0; --n) column.push_back(0.1 - column[n - 1]);
    }
    for (const double x : column) mirrored.push_back(-x);
    const Centre one = centre_of(column), other = centre_of(mirrored);
    CHECK(std::fabs(one.centre + other.centre) <= 1e-12 * std::fabs(one.centre));
    for (const double x : {-3.0, 0.0, 100.0}) {
      const auto a = static_cast<double>(one.of(x)), b = static_cast<double>(other.of(-x));
      CHECK(std::fabs(a + b) <= 1e-6 * std::fabs(a) + 1e-12);
    }
  }
}

TEST(neither_unit_nor_zero_of_a_column_matters) {
  Rng rng(3);
  for (int i = 0; i < 500; ++i) {
    std::vector<double> column, other;
    const double offset = 1000.0 + rng.below(1000);
    const int power = static_cast<int>(rng.below(80)) - 40;
    for (std::uint32_t n = rng.below(60) + 2; n > 0; --n) {
      column.push_back(1.0 + rng.below(50));
      other.push_back(std::ldexp(column.back() + offset, power));
    }
    const Centre one = centre_of(column), two = centre_of(other);
    if (one.inverse == 1.0) continue;  // perhaps all are equal
    for (std::size_t k = 0; k < column.size(); ++k) {
      const auto a = static_cast<double>(one.of(column[k])),
                 b = static_cast<double>(two.of(other[k]));
      CHECK(std::fabs(a - b) < 1e-6);
    }
    if (power != 0) CHECK_EQ(two.inverse, std::ldexp(one.inverse, -power));
  }
}

TEST(differences_of_large_numbers_are_kept) {
  const double start = 1.7e12;  // a Unix time in milliseconds
  const Centre centre = centre_of({start, start + 4.0});
  CHECK(std::fabs(static_cast<double>(centre.of(start)) + 1.0) < 1e-3);
  CHECK(std::fabs(static_cast<double>(centre.of(start + 1.0)) + 0.5) < 1e-3);
  CHECK(std::fabs(static_cast<double>(centre.of(start + 4.0)) - 1.0) < 1e-3);
}

TEST(a_column_without_a_number_is_left_out_until_it_has_one) {
  Centring centring = fitted(
      std::vector<Row>{{{0, 1, 10.0}, {0, 2, kNan}, {1, 3, 1.0}}, {{0, 1, 14.0}, {0, 2, kNan}}});
  check_centre(centring.of(0, 2), 0.0, 0.0);
  centring.finish();
  centring.finish();
  check_centre(centring.of(0, 1), 12.0 + 2.0 * kAside, 0.5);
  check_centre(centring.of(0, 2), 0.0, 0.0);
  check_as_read(centring.of(1, 3));  // it was gone before
  const std::uint64_t version = centring.version();
  Example without = example_of({{0, 1, 11.0}, {0, 2, kNan}});
  centring.apply(without);
  CHECK(without.late.empty());
  Example with = example_of({{0, 1, 11.0}, {0, 2, 1e9}});
  centring.apply(with);
  CHECK_EQ(with.hashes.size(), std::size_t{1});
  CHECK_EQ(with.late.size(), std::size_t{1});
  check_centre(centring.of(0, 2), 0.0, 0.0);  // it is not learned yet
  centring.settle(with.late);
  check_centre(centring.of(0, 2), 1e9, kInfinite);
  CHECK(centring.version() != version);
  Example next = example_of({{0, 1, 11.0}, {0, 2, 1e9 + 4.0}});
  centring.apply(next);
  CHECK_EQ(next.late.size(), std::size_t{1});
  CHECK_EQ(next.values[1], 1.0F);
  centring.settle(next.late);
  check_centre(centring.of(0, 2), 1e9, 0.25);
  centring.settle({{0, 0, 2, 5.0}});  // that is known
  check_centre(centring.of(0, 2), 1e9, 0.25);
  Example last = example_of({{0, 1, 11.0}, {0, 2, 1e9 - 8.0}});
  centring.apply(last);
  CHECK(last.late.empty());
  CHECK_EQ(last.values[1], -2.0F);
}
