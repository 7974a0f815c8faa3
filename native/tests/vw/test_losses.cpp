// Losses: found by name, with the same answers on the training and on the served side.
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "rules/served_loss.hpp"
#include "support/check.hpp"

using namespace chacha;

namespace {

std::vector<LossKind> kinds() {
  std::vector<LossKind> all;
  for (int i = 0; i <= static_cast<int>(kLastLoss); ++i) all.push_back(static_cast<LossKind>(i));
  return all;
}

std::string name_of(LossKind kind) {
  return visit(kind, [](auto loss) { return loss.kName; });
}

// Labels that the loss accepts, in the learner's form.
std::vector<float> labels_of(LossKind kind) {
  std::vector<float> labels;
  for (float y : {-3.0F, -1.0F, 0.0F, 1.0F, 2.5F}) {
    if (ServedLoss{kind}.take_label(y)) labels.push_back(y);
  }
  return labels;
}

}  // namespace

TEST(every_loss_has_a_name_of_its_own) {
  for (const LossKind kind : kinds()) CHECK(loss_named(name_of(kind)) == kind);
  CHECK_THROWS(loss_named("absolute"), std::invalid_argument);
  CHECK_THROWS(loss_named(""), std::invalid_argument);
}

TEST(parameters_are_set_by_name) {
  const ServedLoss quantile = ServedLoss::named("quantile", {{"tau", 0.9}});
  CHECK_EQ(quantile.loss(1.0, 3.0), 0.9 * 2.0);
  const ServedLoss logistic = ServedLoss::named("logistic", {{"floor", 0.25}});
  CHECK_EQ(logistic.range(-1.0, 1.0), -std::log(0.25));
  CHECK_THROWS(ServedLoss::named("quantile", {{"alpha", 0.9}}), std::invalid_argument);
  TrainingLoss training{LossKind::kQuantile};
  CHECK(training.with.set("quantile_tau", 0.75F) && !training.with.set("l1", 1.0F));
  CHECK_EQ(training.first_derivative(1.0F, 3.0F), -0.75F);
}

TEST(labels_that_a_loss_does_not_have_are_refused) {
  for (const LossKind kind : kinds()) {
    const ServedLoss loss{kind};
    const bool all = labels_of(kind).size() == 5;
    CHECK_EQ(loss.refuses_some_labels(), !all);
  }
  float zero = 0.0F;
  CHECK(ServedLoss{LossKind::kHinge}.take_label(zero));
  CHECK_EQ(zero, -1.0F);
}

// The kernels charge such a loss themselves.
TEST(an_absolute_proxy_is_the_clipped_absolute_error) {
  for (const LossKind kind : kinds()) {
    const ServedLoss loss{kind};
    if (!loss.absolute_proxy()) continue;
    for (const double raw : {-9.0, 0.5, 9.0}) {
      const double clipped = std::min(std::max(raw, -1.0), 4.0);
      CHECK_EQ(loss.proxy(raw, 2.0, -1.0, 4.0), std::fabs(clipped - 2.0));
    }
    CHECK_EQ(loss.proxy(NAN, 2.0, -1.0, 4.0), 5.0);
  }
}

TEST(a_proxy_lies_in_its_range) {
  for (const LossKind kind : kinds()) {
    const ServedLoss loss{kind};
    for (const float y : labels_of(kind)) {
      for (const double raw : {-800.0, -1.0, 0.0, 1.5, 800.0, static_cast<double>(NAN)}) {
        const double proxy = loss.proxy(raw, static_cast<double>(y), -3.0, 2.5);
        CHECK(proxy >= 0.0 && proxy <= loss.range(-3.0, 2.5));
      }
    }
  }
}

// Both sides have the same loss, but for a factor: it falls along the update and the residual.
TEST(training_and_serving_agree_on_where_a_prediction_should_go) {
  for (const LossKind kind : kinds()) {
    const TrainingLoss training{kind};
    const ServedLoss served{kind};
    for (const float y : labels_of(kind)) {
      for (const float p : {-2.0F, -0.3F, 0.4F, 2.2F}) {
        const float slope = training.first_derivative(p, y);
        const float update = training.update(p, y, 0.1F, 1.0F);
        const double residual = served.residual(static_cast<double>(p), static_cast<double>(y));
        CHECK_EQ(training.square_gradient(p, y) > 0, slope != 0);
        CHECK(slope == 0 ? update == 0 : (update > 0) == (slope < 0));
        CHECK(slope == 0 ? residual == 0.0 : (residual > 0) == (slope < 0));
        if (slope == 0 || !training.has_loss(p, y)) continue;
        const double before = served.loss(static_cast<double>(p), static_cast<double>(y));
        const double after = served.loss(
            static_cast<double>(p) + 0.01 * static_cast<double>(update), static_cast<double>(y));
        CHECK(after < before);
      }
    }
  }
}
