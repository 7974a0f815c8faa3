// Surprise: a change is noticed by losses that grow, or by labels that hardly differ any more.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "rules/surprise.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A surprise with its clock: every example is charged.
struct Stream {
  Surprise surprise;
  std::int64_t t = 0;

  void add(double loss, double step) {
    ++t;
    surprise.add(loss, step, t, t);
  }
  void add(int n, double loss, double step) {
    while (n-- > 0) add(loss, step);
  }
  bool is_surprised() const { return surprise.is_surprised(t, t); }
  // Examples like that until there is a surprise; -1 if there is none.
  int until_surprised(double loss, double step, int most) {
    for (int i = 1; i <= most; ++i) {
      add(loss, step);
      if (is_surprised()) return i;
    }
    return -1;
  }
};

Stream after(int n, double loss, double step) {
  Stream stream;
  stream.add(n, loss, step);
  return stream;
}

}  // namespace

TEST(the_usual_loss_is_first_a_mean_and_then_a_moving_one) {
  Rng rng(1);
  Stream stream;
  double sum = 0.0;
  double usual = 0.0, recent = 0.0;
  for (int n = 1; n <= 5000; ++n) {
    const double loss = 1.0 + rng.real();  // never cut
    stream.add(loss, 2.0 * loss);
    sum += loss;
    usual += (loss - usual) / std::min(n, 2000);
    recent += (loss - recent) / std::min(n, 32);
    CHECK(std::fabs(stream.surprise.usual - usual) < 1e-9);
    CHECK(std::fabs(stream.surprise.recent - recent) < 1e-9);
    CHECK(std::fabs(stream.surprise.usual_step - 2.0 * usual) < 1e-9);
    CHECK(std::fabs(stream.surprise.recent_step - 2.0 * recent) < 1e-9);
    if (n <= 2000) CHECK(std::fabs(stream.surprise.usual - sum / n) < 1e-9);
    if (n <= 32) CHECK(std::fabs(stream.surprise.recent - sum / n) < 1e-9);
  }
}

TEST(a_single_loss_counts_as_at_most_eight_usual_ones) {
  Stream stream = after(500, 1.0, 1.0);
  Stream other = stream;
  stream.add(1e12, 1e12);
  other.add(8.0, 8.0);
  CHECK_EQ(stream.surprise.usual, other.surprise.usual);
  CHECK_EQ(stream.surprise.recent, 1.0 + 7.0 / 32.0);
  CHECK_EQ(stream.surprise.usual_step, other.surprise.usual_step);
  CHECK_EQ(stream.surprise.recent_step, 1.0 + 7.0 / 32.0);
  CHECK_EQ(stream.surprise.largest, 1e12);  // it is not cut there
  CHECK_EQ(stream.surprise.total, 500.0 + 1e12);
  CHECK(!stream.is_surprised());
}

TEST(losses_that_are_larger_for_a_while_are_a_surprise) {
  CHECK_EQ(after(1000, 1.0, 1.0).until_surprised(1.0, 1.0, 5000), -1);
  CHECK_EQ(after(1000, 1.0, 1.0).until_surprised(2.9, 1.0, 5000), -1);
  const int soon = after(1000, 1.0, 1.0).until_surprised(1e9, 1.0, 5000);
  CHECK(soon >= 10 && soon <= 14);  // 1 + 7·(1 - (31/32)^k) is 3 at k = 10.6
  const int later = after(1000, 1.0, 1.0).until_surprised(4.0, 1.0, 5000);
  CHECK(later > soon && later < 100);
}

TEST(how_large_losses_must_be_depends_on_the_loss) {
  Stream stream = after(1000, 1.0, 1.0);
  CHECK_EQ(Stream(stream).until_surprised(2.5, 1.0, 300), -1);
  stream.surprise.large = 2.0;  // one that grows with the error, not with its square
  const int soon = stream.until_surprised(2.5, 1.0, 300);
  CHECK(soon >= 35 && soon <= 50);  // 1 + 1.5·(1 - (31/32)^k) is 2 at k = 34.6; the usual one grows
}

TEST(smaller_losses_are_no_surprise) {
  CHECK_EQ(after(1000, 1.0, 1.0).until_surprised(0.0, 1.0, 5000), -1);
}

TEST(labels_that_hardly_differ_any_more_are_a_surprise) {
  const int soon = after(1000, 1.0, 1.0).until_surprised(1.0, 1e-9, 5000);
  CHECK(soon >= 88 && soon <= 92);  // (31/32)^k is 1/16 at k = 87.3, and the usual one sinks
  CHECK_EQ(after(1000, 1.0, 1.0).until_surprised(1.0, 0.07, 300), -1);
  CHECK_EQ(after(1000, 1.0, 1.0).until_surprised(1.0, 50.0, 5000), -1);  // larger ones are none
}

TEST(there_is_no_surprise_among_the_first_examples) {
  Stream stream = after(100, 1.0, 1.0);
  stream.add(static_cast<int>(Surprise::kLeast) - 101, 1e9, 0.0);
  CHECK_EQ(stream.t, Surprise::kLeast - 1);
  CHECK(stream.surprise.recent > 3.0 * stream.surprise.usual);
  CHECK(!stream.is_surprised());
  stream.add(1e9, 0.0);
  CHECK(stream.is_surprised());
}

TEST(there_is_no_surprise_while_it_is_calm) {
  Stream stream = after(1000, 1.0, 1.0);
  stream.add(30, 9.0, 1.0);
  CHECK(stream.is_surprised());
  stream.surprise.calm = stream.t + 1;
  stream.surprise.checks = Surprise::kNever;
  CHECK(!stream.is_surprised());
  CHECK(!stream.surprise.is_due(stream.t, stream.t));
  CHECK(stream.surprise.is_surprised(stream.t, stream.t + 1));
}

TEST(what_was_planned_is_due_at_its_time) {
  Stream stream = after(300, 1.0, 1.0);
  Surprise& surprise = stream.surprise;
  CHECK(surprise.is_due(300, 300));  // to look at the scale of labels
  surprise.checks = 600;
  CHECK(!surprise.is_due(300, 300) && surprise.is_due(600, 600));
  surprise.settles = 310;
  CHECK(!surprise.is_due(300, 309));
  CHECK(surprise.is_due(300, 310));
  surprise.settles = Surprise::kNever;
  surprise.again = 320;
  surprise.calm = 1000;  // it is due all the same
  CHECK(!surprise.is_due(300, 319));
  CHECK(surprise.is_due(300, 320) && surprise.is_due(300, 321));
  CHECK(!surprise.is_surprised(300, 320));
}

TEST(an_example_without_a_step_counts_for_the_losses_alone) {
  Stream stream = after(300, 1.0, 2.0);
  const Surprise before = stream.surprise;
  stream.add(3.0, kNan);
  CHECK_EQ(stream.surprise.usual_step, before.usual_step);
  CHECK_EQ(stream.surprise.recent_step, before.recent_step);
  CHECK(stream.surprise.usual > before.usual);
  CHECK_EQ(stream.surprise.since, before.since + 1);
  CHECK_EQ(stream.surprise.total, before.total + 3.0);
  CHECK_EQ(stream.surprise.largest, 3.0);
  CHECK_EQ(stream.surprise.steps_since, std::int64_t{300});
  CHECK_EQ(stream.surprise.total_step, 600.0);
  stream.add(3.0, 9.0);
  CHECK_EQ(stream.surprise.steps_since, std::int64_t{301});
  CHECK_EQ(stream.surprise.total_step, 609.0);
  CHECK_EQ(stream.surprise.largest_step, 9.0);
}

TEST(a_champion_without_losses_is_never_surprised) {
  Stream stream = after(1000, 0.0, 0.0);
  CHECK(!stream.is_surprised());
  CHECK_EQ(stream.surprise.usual, 0.0);
}

TEST(only_sums_of_the_champions_losses_begin_again) {
  Stream stream = after(400, 1.0, 2.0);
  stream.surprise.calm = 7;
  Surprise begun = stream.surprise;
  begun.begin_again();
  CHECK(begun.usual == 0.0 && begun.recent == 0.0 && begun.total == 0.0 && begun.largest == 0.0);
  CHECK(begun.total_step == 0.0 && begun.largest_step == 0.0 && begun.steps_since == 0);
  CHECK_EQ(begun.since, std::int64_t{0});
  begun.usual = stream.surprise.usual;
  begun.recent = stream.surprise.recent;
  begun.total = stream.surprise.total;
  begun.largest = stream.surprise.largest;
  begun.since = stream.surprise.since;
  begun.steps_since = stream.surprise.steps_since;
  begun.total_step = stream.surprise.total_step;
  begun.largest_step = stream.surprise.largest_step;
  Surprise::each_field([&](const char*, auto field) {
    CHECK_EQ(begun.*field, stream.surprise.*field);  // all else stays
  });
}

TEST(the_usual_losses_stay_after_a_surprise_so_that_a_change_in_between_is_noticed) {
  Stream stream = after(1000, 1.0, 2.0);
  stream.surprise.calm = stream.surprise.stays = 2000;
  const Surprise before = stream.surprise;
  stream.add(900, 10.0, 0.01);
  CHECK_EQ(stream.surprise.usual, before.usual);
  CHECK_EQ(stream.surprise.usual_step, before.usual_step);
  CHECK(!stream.is_surprised());
  CHECK_EQ(stream.until_surprised(10.0, 2.0, 200), 100);
}

TEST(labels_that_equal_the_one_before_are_no_smaller_labels) {
  Stream stream = after(1000, 1.0, 2.0);
  stream.add(500, 1.0, 0.0);
  CHECK(!stream.is_surprised());
  CHECK_EQ(stream.surprise.steps, std::int64_t{1000});
  CHECK(stream.until_surprised(1.0, 0.01, 200) > 0);
}

TEST(the_unit_of_the_losses_does_not_matter) {
  Rng rng(2);
  Stream plain, scaled;
  int surprises = 0;
  for (int n = 0; n < 6000; ++n) {
    const double level = n % 1500 > 1400 ? 20.0 : 1.0;
    const double loss = level * rng.real(), step = n % 2000 > 1800 ? 1e-4 : rng.real();
    plain.add(loss, step);
    scaled.add(std::ldexp(loss, 70), std::ldexp(step, 70));
    CHECK_EQ(scaled.surprise.usual, std::ldexp(plain.surprise.usual, 70));
    CHECK_EQ(scaled.is_surprised(), plain.is_surprised());
    surprises += plain.is_surprised() ? 1 : 0;
  }
  CHECK(surprises > 100 && surprises < 5000);
}
