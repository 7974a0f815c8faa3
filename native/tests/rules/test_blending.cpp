// Blending: what a challenger would have gained, and how far it may change a prediction.
#include <cmath>

#include "rules/blending.hpp"
#include "rules/served_loss.hpp"
#include "support/check.hpp"

using namespace chacha;

namespace {

const ServedLoss kSquare;

BlendGain helped(double champion, double own, double y) {
  BlendGain blend_gain;
  for (int i = 0; i < 100; ++i) {
    const double middle = champion + 0.5 * (own - champion);
    blend_gain.add(kSquare.loss(champion, y), kSquare.loss(middle, y), kSquare.loss(own, y),
                   own - champion, 1.0);
  }
  return blend_gain;
}

}  // namespace

TEST(the_parabola_is_exact_for_squared_loss) {
  for (double y = -2.0; y <= 2.0; y += 0.5) {
    const BlendGain blend_gain = helped(1.0, -0.5, y);
    for (double share = 0.0; share <= 1.0; share += 0.125) {
      const double saved = 100.0 * (kSquare.loss(1.0, y) - kSquare.loss(1.0 - 1.5 * share, y));
      CHECK(std::fabs(blend_gain.gain(share, 0.0) - saved) < 1e-9);
      CHECK(blend_gain.gain(share, 0.5) <= blend_gain.gain(share, 0.0));  // noise counts against it
    }
    CHECK(std::fabs(blend_gain.square_distance - 2.25) < 1e-12);
    CHECK_EQ(blend_gain.n, 100);
  }
}

TEST(sums_of_help_decay) {
  BlendGain blend_gain;
  blend_gain.add(8.0, 4.0, 2.0, 3.0, 0.5);
  blend_gain.add(1.0, 1.0, 1.0, 1.0, 0.5);
  CHECK(blend_gain.none == 5.0 && blend_gain.half == 3.0 && blend_gain.whole == 2.0);
  CHECK_EQ(blend_gain.squares, 16.0 * 0.25);
  CHECK_EQ(blend_gain.square_distance, 5.0);
  const BlendGain before = blend_gain;
  blend_gain.add(NAN, 1.0, 1.0, 1.0, 0.5);
  blend_gain.add(1.0, INFINITY, 1.0, 1.0, 0.5);
  blend_gain.add(1.0, 1.0, 1.0, INFINITY, 0.5);
  CHECK(blend_gain.n == before.n && blend_gain.none == before.none &&
        blend_gain.square_distance == before.square_distance);
}

TEST(no_challenger_leads_further_than_the_cap) {
  Serving serving;
  serving.share = 0.5;
  serving.max_distance = 2.0;
  CHECK_EQ(serving.served(1.0, 2.0), 1.5);
  CHECK_EQ(serving.served(1.0, 100.0), 2.0);
  CHECK_EQ(serving.served(1.0, -100.0), 0.0);
  CHECK_EQ(serving.served(1.0, INFINITY), 2.0);
  serving.max_distance = 0.0;
  CHECK_EQ(serving.served(1.0, 100.0), 1.0);
}
