// How far labels may be from their centre.
#include "rules/label_reach.hpp"
#include "support/check.hpp"

using namespace chacha;

TEST(a_label_counts_as_at_most_16_times_as_far_as_those_before) {
  LabelReach reach;
  CHECK(reach.cut(1e300) == 1e300);  // nothing is known of the scale
  reach.begin(10.0, 1.0);
  CHECK(reach.cut(25.9) == 25.9);
  CHECK(reach.cut(1e9) == 26.0);
  CHECK(reach.cut(-1e9) == -6.0);
  reach.observe(11.5);
  CHECK(reach.cut(1e9) == 34.0);
  reach.observe(1e9);  // counts as twice as far as those before
  CHECK(reach.cut(1e9) == 58.0);
  reach.observe(10.0);  // nearer ones change nothing
  CHECK(reach.cut(1e9) == 58.0);
  reach.begin(0.0, 2.0);
  CHECK(reach.cut(1e9) == 32.0);
}
