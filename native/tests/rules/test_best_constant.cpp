// The best constant for the labels so far: no other has a smaller loss on them.
#include <cmath>
#include <utility>
#include <vector>

#include "rules/best_constant.hpp"
#include "support/check.hpp"

using namespace chacha;

namespace {

using Labels = std::vector<std::pair<double, double>>;  // with weights

double loss_of(const ServedLoss& loss, double raw, const Labels& labels) {
  double total = 0.0;
  for (const auto& [y, weight] : labels) total += weight * loss.loss(raw, y);
  return total;
}

}  // namespace

TEST(only_a_quantile_takes_more_than_sums) {
  for (int i = 0; i <= static_cast<int>(kLastLoss); ++i) {
    const ServedLoss loss{static_cast<LossKind>(i)};
    CHECK_EQ(loss.has_constant(), loss.kind != LossKind::kQuantile);
  }
}

TEST(the_constant_before_the_first_label) {
  const BestConstant none;
  CHECK_EQ(none.raw({LossKind::kSquared}), 0.0);
  CHECK_EQ(none.raw({LossKind::kPoisson}), std::log(1e-4));
  CHECK_EQ(none.raw({LossKind::kLogistic}), 0.0);
  CHECK_EQ(none.raw({LossKind::kHinge}), 0.0);
}

TEST(no_other_constant_has_a_smaller_loss) {
  const Labels classes = {{1, 1}, {-1, 2}, {1, 0.5}, {-1, 0}, {1, 2}};
  const Labels counts = {{3, 1}, {0, 2}, {1, 0.5}, {700, 0}, {2, 2}};
  for (const LossKind kind :
       {LossKind::kSquared, LossKind::kPoisson, LossKind::kLogistic, LossKind::kHinge}) {
    const ServedLoss loss{kind};
    const bool binary = kind == LossKind::kLogistic || kind == LossKind::kHinge;
    Labels labels = binary ? classes : counts;
    BestConstant constant;
    for (const auto& [y, weight] : labels) constant.add(y, weight);
    if (kind == LossKind::kLogistic) {  // it begins with half an example of each label
      labels.emplace_back(1, 0.5);
      labels.emplace_back(-1, 0.5);
    }
    const double least = loss_of(loss, constant.raw(loss), labels);
    for (double raw = -3.0; raw < 3.0; raw += 0.01) {
      CHECK(loss_of(loss, raw, labels) >= least - 1e-12);
    }
  }
}
