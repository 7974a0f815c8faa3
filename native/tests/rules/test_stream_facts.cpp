// The facts of a stream: distinct features, groups, the label range.
#include <unordered_map>

#include "data/text_parser.hpp"
#include "rules/stream_facts.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

TEST(the_feature_set_finds_new_features) {
  FeatureSet seen;
  std::unordered_map<std::uint64_t, bool> known;
  Rng rng(7);
  for (int i = 0; i < 50000; ++i) {
    const std::uint32_t group = rng.below(5);
    const std::uint32_t hash = rng.below(20000);
    seen.reserve(1);
    bool& before = known[(std::uint64_t{group} << 32) | hash];
    CHECK_EQ(seen.add(group, hash), !before);
    before = true;
  }
  const std::size_t bytes = seen.bytes();
  seen.reserve(1);
  CHECK_EQ(seen.bytes(), bytes);
  seen.reserve(200000);
  CHECK(seen.bytes() >= 200000 * 16);
  for (const auto& [key, known_before] : known) {
    CHECK(known_before);
    CHECK(!seen.add(static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key)));
  }
}

TEST(observed_counts_distinct_features) {
  Groups groups;
  Example example;
  std::vector<std::uint32_t> empty;
  ObservedStream observed(18);
  auto take = [&](const char* line) {
    CHECK(parse_line(line, groups, example));
    example.order_runs(groups, empty);
    const bool fresh = observed.prepare(example, empty, groups);
    observed.observe(example, empty, nullptr);
    return fresh;
  };
  CHECK(take("3 |a x y |b |c z"));
  CHECK(!take("-1 |a x q |c z"));
  CHECK(take("|d w"));
  CHECK_EQ(observed.low(), -1.0);
  CHECK_EQ(observed.high(), 3.0);
  CHECK_EQ(observed.raw_features(), std::uint64_t{5});
  CHECK_EQ(observed.exact_size(groups.number("a")), 3);
  CHECK_EQ(observed.exact_size(groups.number("b")), 0);
  CHECK(observed.has(groups.number("b")));
  CHECK(!observed.has(groups.number("never")));
  const std::uint32_t a = groups.number("a");
  CHECK_EQ(observed.complexity({{a, groups.number("c")}}), 5.0 + 3.0);
  CHECK_EQ(observed.complexity({{a, a}}), 5.0 + 6.0);
  CHECK_EQ(observed.complexity({{a, groups.number("never")}}), 5.0);
}

TEST(observed_takes_1_to_32_bits) {
  CHECK_THROWS(ObservedStream(0), std::invalid_argument);
  CHECK_THROWS(ObservedStream(33), std::invalid_argument);
  Groups groups;
  Example example;
  std::vector<std::uint32_t> empty;
  ObservedStream observed(32);
  CHECK(parse_line("|a 0 2147483648 4294967295", groups, example));
  example.order_runs(groups, empty);
  observed.prepare(example, empty, groups);
  observed.observe(example, empty, nullptr);
  CHECK_EQ(observed.raw_features(), std::uint64_t{3});
}
