// The expansion of examples: by a plan, and by the grid of a table.
#include "learner/feature_plan.hpp"

#include "learner/live_bank.hpp"
#include "learner/table_grid.hpp"
#include "support/check.hpp"

using namespace chacha;

namespace {

struct Planner {
  Groups groups;
  Lanes lanes;
  LiveProducts products;
  Places places{18, 4};
  FeaturePlan plan{groups, products, places};
  Example example;

  void start(std::uint32_t lane, const std::vector<std::string>& names) {
    lanes.reserve(4);
    places.start(lane, NarrowWeights());
    lanes.start(lane, {{}, group_lists(names, groups), {}}, {}, 0.0F);
    products.collect(lanes, groups, 4);
    plan.invalidate();
  }
  bool expand(const std::string& line, bool learning = true) {
    std::vector<std::uint32_t> empty;
    CHECK(parse_line(line, groups, example));
    example.settle(groups, empty);
    return plan.expand(example, learning, false);
  }
  std::string picture() const { return picture(plan.expansion()); }
  static std::string picture(const Expansion& expansion) {
    std::string text;
    for (const Part& part : expansion.parts) {
      const auto add = [&](const Pod<std::uint32_t>& all, const Pod<float>& values,
                           std::uint32_t begin, std::uint32_t end) {
        for (std::uint32_t f = begin; f < end; ++f) {
          text += print(" %u:%g", all[f], static_cast<double>(values[f]));
        }
      };
      if (part.owner >= 0) {
        text += print(" narrow %u", part.mask);
        add(expansion.narrow_places, expansion.narrow_values, part.begin, part.end);
        continue;
      }
      for (const Segment& segment : expansion.wide(part)) {
        text += print(" wide %u", segment.mask);
        add(expansion.places, expansion.values, segment.begin, segment.end);
      }
    }
    return text;
  }
};

std::string features(char group, int count, int first = 0) {
  std::string text = print(" |%c", group);
  for (int i = 0; i < count; ++i) text += print(" x%d:%d", first + i, i + 1);
  return text;
}

}  // namespace

TEST(products_follow_single_features_and_the_constant) {
  Planner planner;
  planner.start(0, {"ab"});
  planner.start(1, {"ab", "aa"});
  planner.expand("1 |a x:2 y:3 |b z:5");
  const Expansion& expansion = planner.plan.expansion();
  CHECK_EQ(expansion.features(), std::size_t{3 + 1 + 3 + 2});
  CHECK_EQ(expansion.segments.size(), std::size_t{3});
  const float values[] = {2, 3, 5, 1, 4, 6, 9, 10, 15};
  for (std::size_t i = 0; i < 9; ++i) CHECK_EQ(expansion.values[i], values[i]);
}

TEST(a_large_product_of_one_model_is_narrow) {
  Planner planner;
  planner.start(0, {"ab"});
  planner.expand("1" + features('a', 7) + features('b', 7));
  CHECK_EQ(planner.plan.expansion().narrow_places.size(), std::size_t{49});
  planner.start(1, {"ab"});
  planner.expand("1" + features('a', 7) + features('b', 7));
  CHECK_EQ(planner.plan.expansion().narrow_places.size(), std::size_t{0});
  CHECK_EQ(planner.plan.expansion().places.size(), std::size_t{15 + 49});
}

TEST(what_is_reused_equals_what_is_looked_up) {
  Planner planner;
  planner.start(0, {"ab", "abc"});
  planner.start(1, {"bc", "bb"});
  const std::string lines[] = {
      "1" + features('a', 6) + features('b', 6) + features('c', 2),
      "1" + features('a', 6) + features('b', 6, 3) + features('c', 2),
      "1" + features('a', 6) + features('b', 6, 3) + features('c', 2),
      "1" + features('a', 6, 1) + features('b', 5, 3) + features('c', 3),
      "1" + features('c', 3),
      "1" + features('c', 3, 9),
  };
  const bool differs[] = {true, true, false, true, true, true};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK_EQ(planner.expand(lines[i]), differs[i]);
    const std::string reused = planner.picture();
    planner.plan.invalidate();
    planner.expand(lines[i]);
    CHECK_EQ(planner.picture(), reused);
  }
}

TEST(features_without_a_place_are_looked_up_again) {
  Planner planner;
  planner.start(0, {});
  planner.expand("1 |a x:2", false);
  CHECK_EQ(planner.plan.expansion().places[0], 0U);
  CHECK(planner.expand("1 |a x:2"));
  CHECK(planner.plan.expansion().places[0] != 0U);
}

TEST(a_grid_gives_the_features_of_a_plan) {
  Planner planner;
  planner.start(0, {"ab"});
  planner.start(1, {"ab", "bc"});
  TableGrid grid(planner.groups, planner.products, planner.places);
  planner.expand("1" + features('a', 3) + features('b', 2) + features('c', 1));
  std::vector<TableGrid::Part> parts;
  for (const Run& run : planner.example.runs) {
    const std::uint32_t* const hashes = planner.example.hashes.data();
    parts.push_back({run.group, {hashes + run.begin, hashes + run.end}});
  }
  CHECK(!grid.current(1));
  grid.lay_out(parts, 1);
  CHECK(grid.current(1) && grid.usable());
  const std::uint32_t all[] = {0, 1, 2, 3, 4, 5};
  grid.expand(planner.example, all);
  CHECK_EQ(Planner::picture(grid.expansion()), planner.picture());
  planner.expand("1 |a x1:4 |c x0:5");
  const std::uint32_t some[] = {1, 5};
  grid.expand(planner.example, some);
  CHECK_EQ(Planner::picture(grid.expansion()), planner.picture());
  planner.start(2, {"abc"});
  CHECK(!grid.current(1));
  grid.lay_out(parts, 1);
  CHECK(!grid.usable());  // a product of three groups
}
