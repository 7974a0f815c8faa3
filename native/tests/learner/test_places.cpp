// Places: where the weights of an index lie, in the wide table and in narrow ones.
#include "learner/places.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

void set(const Weight& weight, float w) {
  weight.w() = w;
  weight.adaptive() = 1.0F;
  weight.norm() = 1.0F;
}

void set_wide(Places& places, std::uint32_t place, std::size_t lane, float w) {
  set({places.table() + std::size_t{place} * 4 * places.width() + lane, places.width()}, w);
}

void set_cell(Places& places, std::uint32_t cell, std::size_t lane, float w) {
  set({places.cells(lane) + std::size_t{cell} * 4, 1}, w);
}

}  // namespace

TEST(an_index_has_one_wide_place) {
  Places places(18, 4);
  places.start(0, NarrowWeights());
  places.begin_lookups();
  CHECK_EQ(places.wide(77, false), 0U);
  CHECK(places.missing());
  places.begin_lookups();
  const std::uint32_t place = places.wide(77, true);
  CHECK_EQ(place, 1U);
  CHECK_EQ(places.wide(78, true), 2U);
  CHECK_EQ(places.wide(77, false), place);
  CHECK(!places.missing() && !places.moved());
}

TEST(an_index_takes_its_weights_from_narrow_to_wide) {
  Places places(18, 4);
  places.start(0, NarrowWeights());
  places.start(1, NarrowWeights(2.0F));
  places.begin_lookups();
  CHECK_EQ(places.narrow(5, 0, false), kInWide);  // place 0
  CHECK(places.missing());
  places.begin_lookups();
  const std::uint32_t cell = places.narrow(5, 0, true);
  CHECK_EQ(places.narrow(5, 0, false), cell);
  set_cell(places, cell, 0, 7.0F);
  const std::string before = picture(places.dump(0));
  CHECK(!places.moved());
  const std::uint32_t place = places.wide(5, false);  // learned, if by one model only
  CHECK(place > 0 && places.moved() && !places.missing());
  CHECK_EQ(places.narrow(5, 0, true), place | kInWide);
  CHECK_EQ(picture(places.dump(0)), before);
  const Dump other = places.dump(1);
  CHECK_EQ(other.index.size(), std::size_t{1});
  CHECK_EQ(other.adaptive[0], 2.0F);  // its initial_t
}

TEST(a_crowded_narrow_table_becomes_direct) {
  Places places(10, 4);
  places.start(0, NarrowWeights(0.5F));
  places.start(1, NarrowWeights());
  places.wide(3, true);
  std::uint32_t index = 4;
  while (!places.crowded()) {
    set_cell(places, places.narrow(index, 0, true), 0, static_cast<float>(index));
    index += 3;
  }
  CHECK(!places.direct(0));
  CHECK(places.make_crowded_direct());
  CHECK(places.direct(0) && !places.direct(1) && !places.crowded());
  CHECK_EQ(places.wide_bits()[0], std::uint64_t{1} << 3);
  CHECK_EQ(places.wide_marked(3), 1U | kInWide);
  const Dump dump = places.dump(0);
  CHECK_EQ(dump.index.size(), std::size_t{1024});  // all have an initial_t
  for (std::size_t i = 0; i < dump.index.size(); ++i) {
    const bool learned = dump.index[i] >= 4 && dump.index[i] < index && dump.index[i] % 3 == 1;
    CHECK_EQ(dump.w[i], learned ? static_cast<float>(dump.index[i]) : 0.0F);
    CHECK_EQ(dump.adaptive[i], learned ? 1.0F : 0.5F);
  }
  CHECK(!places.make_crowded_direct());
}

TEST(a_wider_table_keeps_its_weights) {
  Places places(18, 4);
  for (std::size_t lane = 0; lane < 4; ++lane) places.start(lane, NarrowWeights());
  for (std::uint32_t index = 10; index < 60; ++index) {
    const std::uint32_t place = places.wide(index, true);
    for (std::size_t lane = 0; lane < 4; ++lane) {
      set_wide(places, place, lane, static_cast<float>(index + 100 * lane));
    }
  }
  set_cell(places, places.narrow(5, 2, true), 2, 9.0F);
  std::vector<std::string> before;
  for (std::size_t lane = 0; lane < 4; ++lane) before.push_back(picture(places.dump(lane)));
  places.widen(8);
  CHECK_EQ(places.width(), std::size_t{8});
  for (std::size_t lane = 0; lane < 4; ++lane) CHECK_EQ(picture(places.dump(lane)), before[lane]);
  places.start(6, NarrowWeights());
  CHECK_EQ(picture(places.dump(6)), std::string());
}

TEST(a_lane_is_empty_for_the_next_model) {
  Places places(18, 4);
  places.start(0, NarrowWeights());
  const std::uint32_t place = places.wide(10, true);
  set_wide(places, place, 0, 1.0F);
  set_cell(places, places.narrow(11, 0, true), 0, 2.0F);
  places.copy(2, 0, places.narrow_copy(0, 0.0F));
  const std::string before = picture(places.dump(0));
  CHECK_EQ(picture(places.dump(2)), before);
  places.stop(0);
  places.start(0, NarrowWeights());
  CHECK_EQ(picture(places.dump(0)), std::string());
  CHECK_EQ(picture(places.dump(2)), before);
}

TEST(weights_are_loaded_as_a_whole_or_not_at_all) {
  Places places(4, 4);
  places.start(0, NarrowWeights());
  set_cell(places, places.narrow(3, 0, true), 0, 5.0F);
  const std::string before = picture(places.dump(0));
  CHECK_THROWS(places.load(0, {{1, 16}, {1, 1}, {1, 1}, {1, 1}}), std::invalid_argument);
  CHECK_EQ(picture(places.dump(0)), before);
  const Dump weights{{1, 15}, {1, 2}, {3, 4}, {5, 6}};
  places.load(0, weights);
  CHECK_EQ(picture(places.dump(0)), picture(weights));
}

TEST(l1_and_l2_reach_every_weight) {
  Places places(18, 4);
  places.start(0, NarrowWeights());
  places.start(1, NarrowWeights());
  const std::uint32_t place = places.wide(10, true);
  set_wide(places, place, 0, -3.0F);
  set_wide(places, place, 1, -3.0F);
  set_cell(places, places.narrow(11, 0, true), 0, 2.0F);
  set_cell(places, places.narrow(12, 0, true), 0, 0.5F);
  places.pull(0, 1.0F, 0.5F);
  const Dump pulled = places.dump(0);
  CHECK_EQ(pulled.index.size(), std::size_t{3});
  for (std::size_t i = 0; i < 3; ++i) {
    const float expected[] = {-1.0F, 0.5F, 0.0F};
    CHECK_EQ(pulled.w[i], expected[pulled.index[i] - 10]);
  }
  CHECK_EQ(places.dump(1).w[0], -3.0F);
}
