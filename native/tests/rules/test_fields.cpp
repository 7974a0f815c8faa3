// The fields of the values that cross to Python: each_field visits every member exactly once.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "rules/betting.hpp"
#include "rules/blending.hpp"
#include "rules/surprise.hpp"
#include "support/check.hpp"

using namespace chacha;

namespace {

// A value whose k-th field, counted from 1, is k.
template <class Value>
Value numbered() {
  Value value;
  int k = 0;
  Value::each_field([&](const char*, auto field) {
    using Field = std::remove_reference_t<decltype(value.*field)>;
    static_assert(std::is_same_v<Field, double> || std::is_same_v<Field, std::int64_t>);
    value.*field = static_cast<Field>(++k);
  });
  return value;
}

// Every field is 8 bytes wide: those that are visited are all of the value, side by side.
template <class Value>
void check_fields(const std::vector<std::string>& expected) {
  const Value value = numbered<Value>();
  std::vector<std::string> names;
  std::set<std::ptrdiff_t> places;
  Value::each_field([&](const char* name, auto field) {
    names.emplace_back(name);
    places.insert(reinterpret_cast<const char*>(&(value.*field)) -
                  reinterpret_cast<const char*>(&value));
    CHECK_EQ(value.*field,
             static_cast<std::remove_cv_t<std::remove_reference_t<decltype(value.*field)>>>(
                 names.size()));  // no later visit wrote it
  });
  CHECK(names == expected);
  CHECK_EQ(places.size(), names.size());
  CHECK_EQ(sizeof(Value), names.size() * 8);
  std::ptrdiff_t next = 0;
  for (const std::ptrdiff_t place : places) {
    CHECK_EQ(place, next);
    next = place + 8;
  }
}

}  // namespace

TEST(every_field_of_a_pairing_is_visited_once) {
  check_fields<Pairing>({"number", "needed", "n", "reserve", "wealth", "against", "scale", "blocks",
                         "block_n", "block_gain", "block_harm", "blocks_since_restart", "total",
                         "squares", "clips", "champion_loss", "loss", "odds_before"});
  const auto p = numbered<Pairing>();
  CHECK(p.number == 1 && p.needed == 2.0 && p.n == 3 && p.reserve == 4.0 && p.wealth == 5.0);
  CHECK(p.against == 6.0 && p.scale == 7.0 && p.blocks == 8 && p.block_n == 9);
  CHECK(p.block_gain == 10.0 && p.block_harm == 11.0 && p.blocks_since_restart == 12);
  CHECK(p.total == 13.0 && p.squares == 14.0 && p.clips == 15 && p.champion_loss == 16.0);
  CHECK(p.loss == 17.0 && p.odds_before == 18.0);
}

TEST(every_field_of_a_blend_gain_is_visited_once) {
  check_fields<BlendGain>({"n", "none", "half", "whole", "squares", "square_distance"});
  const auto g = numbered<BlendGain>();
  CHECK(g.n == 1 && g.none == 2.0 && g.half == 3.0 && g.whole == 4.0);
  CHECK(g.squares == 5.0 && g.square_distance == 6.0);
}

TEST(every_field_of_a_serving_is_visited_once) {
  check_fields<Serving>({"other", "share", "max_distance", "served_loss", "champion_loss"});
  const auto s = numbered<Serving>();
  CHECK(s.other == 1 && s.share == 2.0 && s.max_distance == 3.0);
  CHECK(s.served_loss == 4.0 && s.champion_loss == 5.0);
}

TEST(every_field_of_a_surprise_is_visited_once) {
  check_fields<Surprise>({"usual",        "recent",  "usual_step", "recent_step", "steps",
                          "since",        "total",   "largest",    "steps_since", "total_step",
                          "largest_step", "calm",    "stays",      "settles",     "again",
                          "noticed",      "changes", "anew",       "checks",      "large"});
  const auto s = numbered<Surprise>();
  CHECK(s.usual == 1.0 && s.recent == 2.0 && s.usual_step == 3.0 && s.recent_step == 4.0);
  CHECK(s.steps == 5 && s.since == 6 && s.total == 7.0 && s.largest == 8.0);
  CHECK(s.steps_since == 9 && s.total_step == 10.0 && s.largest_step == 11.0 && s.calm == 12);
  CHECK(s.stays == 13 && s.settles == 14 && s.again == 15 && s.noticed == 16);
  CHECK(s.changes == 17 && s.anew == 18 && s.checks == 19);
}
