// The expansion of examples: by an expander, and by the grid of a table.
#include "learner/expander.hpp"
#include "learner/live_bank.hpp"
#include "learner/table_grid.hpp"
#include "support/check.hpp"

using namespace chacha;

namespace {

struct TestExpander {
  Groups groups;
  Lanes lanes;
  LiveProducts products;
  Places places{18, 4};
  Expander expander{groups, products, places};
  Example example;

  void start(std::uint32_t lane, const std::vector<std::string>& names) {
    lanes.reserve(4);
    places.start(lane, NarrowWeights());
    lanes.start(lane, {{}, group_lists(names, groups), {}}, {}, 0.0F);
    products.collect(lanes, groups, 4);
    expander.invalidate();
  }
  bool expand(const std::string& line, bool learning = true) {
    std::vector<std::uint32_t> empty;
    CHECK(parse_line(line, groups, example));
    example.order_runs(groups, empty);
    return expander.expand(example, learning, false);
  }
  std::string picture() const { return picture(expander.expansion()); }
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
  TestExpander models;
  models.start(0, {"ab"});
  models.start(1, {"ab", "aa"});
  models.expand("1 |a x:2 y:3 |b z:5");
  const Expansion& expansion = models.expander.expansion();
  CHECK_EQ(expansion.features(), std::size_t{3 + 1 + 3 + 2});
  CHECK_EQ(expansion.segments.size(), std::size_t{3});
  const float values[] = {2, 3, 5, 1, 4, 6, 9, 10, 15};
  for (std::size_t i = 0; i < 9; ++i) CHECK_EQ(expansion.values[i], values[i]);
}

TEST(a_large_product_of_one_model_is_narrow) {
  TestExpander models;
  models.start(0, {"ab"});
  models.expand("1" + features('a', 7) + features('b', 7));
  CHECK_EQ(models.expander.expansion().narrow_places.size(), std::size_t{49});
  models.start(1, {"ab"});
  models.expand("1" + features('a', 7) + features('b', 7));
  CHECK_EQ(models.expander.expansion().narrow_places.size(), std::size_t{0});
  CHECK_EQ(models.expander.expansion().places.size(), std::size_t{15 + 49});
}

TEST(what_is_reused_equals_what_is_looked_up) {
  TestExpander models;
  models.start(0, {"ab", "abc"});
  models.start(1, {"bc", "bb"});
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
    CHECK_EQ(models.expand(lines[i]), differs[i]);
    const std::string reused = models.picture();
    models.expander.invalidate();
    models.expand(lines[i]);
    CHECK_EQ(models.picture(), reused);
  }
}

TEST(features_without_a_place_are_looked_up_again) {
  TestExpander models;
  models.start(0, {});
  models.expand("1 |a x:2", false);
  CHECK_EQ(models.expander.expansion().places[0], 0U);
  CHECK(models.expand("1 |a x:2"));
  CHECK(models.expander.expansion().places[0] != 0U);
}

TEST(a_grid_gives_the_features_of_an_expander) {
  TestExpander models;
  models.start(0, {"ab"});
  models.start(1, {"ab", "bc"});
  TableGrid grid(models.groups, models.products, models.places);
  models.expand("1" + features('a', 3) + features('b', 2) + features('c', 1));
  std::vector<TableGrid::Part> parts;
  for (const Run& run : models.example.runs) {
    const std::uint32_t* const hashes = models.example.hashes.data();
    parts.push_back({run.group, {hashes + run.begin, hashes + run.end}});
  }
  CHECK(!grid.current(1));
  grid.lay_out(parts, 1);
  CHECK(grid.current(1) && grid.usable());
  const std::uint32_t all[] = {0, 1, 2, 3, 4, 5};
  grid.expand(models.example, all);
  CHECK_EQ(TestExpander::picture(grid.expansion()), models.picture());
  models.expand("1 |a x1:4 |c x0:5");
  const std::uint32_t some[] = {1, 5};
  grid.expand(models.example, some);
  CHECK_EQ(TestExpander::picture(grid.expansion()), models.picture());
  models.start(2, {"abc"});
  CHECK(!grid.current(1));
  grid.lay_out(parts, 1);
  CHECK(!grid.usable());  // a product of three groups
}
