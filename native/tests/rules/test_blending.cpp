// Blending: what a challenger would have gained, and how far it may change a prediction.
#include "rules/blending.hpp"

#include <cmath>

#include "rules/served_loss.hpp"
#include "support/check.hpp"

using namespace chacha;

namespace {

const ServedLoss kSquare;

Helping helped(double champion, double own, double y) {
  Helping helping;
  for (int i = 0; i < 100; ++i) {
    const double middle = champion + 0.5 * (own - champion);
    helping.add(kSquare.loss(champion, y), kSquare.loss(middle, y), kSquare.loss(own, y),
                own - champion, 1.0);
  }
  return helping;
}

}  // namespace

TEST(the_parabola_is_exact_for_squared_loss) {
  for (double y = -2.0; y <= 2.0; y += 0.5) {
    const Helping helping = helped(1.0, -0.5, y);
    for (double share = 0.0; share <= 1.0; share += 0.125) {
      const double saved = 100.0 * (kSquare.loss(1.0, y) - kSquare.loss(1.0 - 1.5 * share, y));
      CHECK(std::fabs(helping.gain(share, 0.0) - saved) < 1e-9);
      CHECK(helping.gain(share, 0.5) <= helping.gain(share, 0.0));  // noise counts against it
    }
    CHECK(std::fabs(helping.apart - 2.25) < 1e-12);
    CHECK_EQ(helping.n, 100);
  }
}

TEST(sums_of_help_decay) {
  Helping helping;
  helping.add(8.0, 4.0, 2.0, 3.0, 0.5);
  helping.add(1.0, 1.0, 1.0, 1.0, 0.5);
  CHECK(helping.none == 5.0 && helping.half == 3.0 && helping.whole == 2.0);
  CHECK_EQ(helping.noise, 16.0 * 0.25);
  CHECK_EQ(helping.apart, 5.0);
  const Helping before = helping;
  helping.add(NAN, 1.0, 1.0, 1.0, 0.5);
  helping.add(1.0, INFINITY, 1.0, 1.0, 0.5);
  helping.add(1.0, 1.0, 1.0, INFINITY, 0.5);
  CHECK(helping.n == before.n && helping.none == before.none && helping.apart == before.apart);
}

TEST(nobody_leads_further_than_the_cap) {
  Serving serving;
  serving.share = 0.5;
  serving.most = 2.0;
  CHECK_EQ(serving.served(1.0, 2.0), 1.5);
  CHECK_EQ(serving.served(1.0, 100.0), 2.0);
  CHECK_EQ(serving.served(1.0, -100.0), 0.0);
  CHECK_EQ(serving.served(1.0, INFINITY), 2.0);
  serving.most = 0.0;
  CHECK_EQ(serving.served(1.0, 100.0), 1.0);
}
