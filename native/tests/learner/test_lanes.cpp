// Lanes and the products of the models in them.
#include "learner/lanes.hpp"
#include "learner/live_bank.hpp"
#include "support/check.hpp"

using namespace chacha;

namespace {

Options with(void (*change)(Options&)) {
  Options options;
  change(options);
  return options;
}

}  // namespace

TEST(the_first_free_lane_is_taken) {
  Lanes lanes;
  lanes.reserve(4);
  for (std::uint32_t lane = 0; lane < 4; ++lane) {
    CHECK_EQ(lanes.free_lane(4), lane);
    lanes.start(lane, {}, {}, 0.0F);
  }
  CHECK_EQ(lanes.free_lane(4), 4U);
  lanes.stop(2);
  lanes.stop(1);
  CHECK_EQ(lanes.free_lane(4), 1U);
  CHECK(lanes.live() == (std::vector<std::uint32_t>{0, 3}));
  lanes.start(1, {}, {}, 0.0F);
  CHECK(lanes.live() == (std::vector<std::uint32_t>{0, 1, 3}));
}

TEST(lanes_are_plain_as_long_as_all_models_are) {
  Lanes lanes;
  lanes.reserve(4);
  lanes.start(0, {with([](Options& options) { options.learning_rate = 3.0F; }), {}, {}}, {}, 0.0F);
  CHECK(lanes.plain() && lanes.all_square_root() && !lanes.any_l1());
  const Options others[] = {with([](Options& options) { options.power_t = 0.3F; }),
                            with([](Options& options) { options.l1 = 0.1F; }),
                            with([](Options& options) { options.l2 = 0.1F; }),
                            with([](Options& options) { options.loss.kind = LossKind::kHinge; })};
  for (const Options& options : others) {
    lanes.start(1, {options, {}, {}}, {}, 0.0F);
    CHECK(!lanes.plain());
    CHECK_EQ(lanes.all_square_root(), options.power_t == 0.5F);
    CHECK_EQ(lanes.any_l1(), options.l1 > 0);
    lanes.stop(1);
    CHECK(lanes.plain() && lanes.all_square_root() && !lanes.any_l1());
  }
  ModelState state;
  state.contraction = 0.5;
  lanes.set_state(0, state);  // of a model that has been trained with l2
  CHECK(!lanes.plain());
}

TEST(products_of_several_models_have_no_owner) {
  Groups groups;
  Lanes lanes;
  lanes.reserve(4);
  lanes.start(0, {{}, group_lists({"ab", "bc"}, groups), {}}, {}, 0.0F);
  lanes.start(2, {{}, group_lists({"bc", "a"}, groups), {0.5F, 0.0F}}, {}, 0.0F);
  LiveProducts products;
  products.collect(lanes, groups, 4);
  CHECK_EQ(products.all().size(), std::size_t{2});
  const Product& ab = products.all()[0];
  const Product& bc = products.all()[1];
  CHECK(ab.groups == group_lists({"ab"}, groups)[0] && ab.owner == 0);
  CHECK(bc.groups == group_lists({"bc"}, groups)[0] && bc.owner == -1);
  CHECK_EQ(products.mask_of_constant(), 0U);
  const std::uint32_t derived = products.mask_of_group(groups.number("a"));
  CHECK(derived > 1);
  CHECK_EQ(products.mask_of_group(groups.number("b")), 0U);
  CHECK_EQ(products.mask_of_group(99), 0U);
  const auto users = [&](std::uint32_t mask) {
    return std::vector<std::int32_t>(products.masks() + mask * 4, products.masks() + mask * 4 + 4);
  };
  CHECK(users(0) == (std::vector<std::int32_t>{-1, 0, -1, 0}));
  CHECK(users(ab.mask) == (std::vector<std::int32_t>{-1, 0, 0, 0}));
  CHECK(users(bc.mask) == (std::vector<std::int32_t>{-1, 0, -1, 0}));
  CHECK(users(derived) == (std::vector<std::int32_t>{0, 0, -1, 0}));
  CHECK_EQ(products.seeds()[bc.mask * 4 + 2], 0.5F);
  CHECK_EQ(products.seeds()[bc.mask * 4], 0.0F);
  lanes.undamp(2);
  products.undamp(2, lanes.any_damped());
  CHECK(products.seeds() == nullptr);
}

TEST(a_model_without_a_constant_has_a_mask_for_it) {
  Groups groups;
  Lanes lanes;
  lanes.reserve(4);
  lanes.start(0, {}, {}, 0.0F);
  lanes.start(1, {with([](Options& options) { options.constant = false; }), {}, {}}, {}, 0.0F);
  LiveProducts products;
  products.collect(lanes, groups, 4);
  CHECK_EQ(products.mask_of_constant(), 1U);
  CHECK_EQ(products.masks()[4], -1);
  CHECK_EQ(products.masks()[5], 0);
}
