// The small structures: an example's order, the map of indices, the set of what was seen.
#include <unordered_map>

#include "base/aligned.hpp"
#include "support/check.hpp"
#include "base/index_map.hpp"
#include "rules/stream_facts.hpp"
#include "data/text_parser.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

// Parses and settles; `name[values]` of every run, then the groups that were empty.
std::string settled(const std::string& line) {
  Groups groups;
  Example example;
  std::vector<std::uint32_t> empty;
  CHECK(parse_line(line, groups, example));
  example.order_runs(groups, empty);
  std::string all;
  std::uint32_t at = 0;
  for (const Run& run : example.runs) {
    CHECK_EQ(run.begin, at);
    CHECK(run.end > run.begin);
    at = run.end;
    all += groups[run.group].name + '[';
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      all += print("%s%g", i > run.begin ? " " : "", static_cast<double>(example.values[i]));
    }
    all += ']';
  }
  CHECK_EQ(at, example.hashes.size());
  for (const std::uint32_t group : empty) all += "-" + groups[group].name;
  return all;
}

}  // namespace

TEST(runs_keep_their_order) {
  CHECK_EQ(settled("|a x:1 |b x:2 |c x:3"), std::string("a[1]b[2]c[3]"));
  CHECK_EQ(settled("|c x:1 |a x:2"), std::string("c[1]a[2]"));
}

TEST(neighbours_of_one_group_are_joined) {
  CHECK_EQ(settled("|a x:1 |a x:2 |b x:3"), std::string("a[1 2]b[3]"));
  CHECK_EQ(settled("|a x:1 |b |a x:2"), std::string("a[1 2]-b"));
  CHECK_EQ(settled("|alpha x:1 |alpha x:2 |a x:3 |alpha x:4"), std::string("alpha[1 2]a[3]alpha[4]"));
}

TEST(letters_that_come_back_are_brought_together) {
  CHECK_EQ(settled("|a x:1 |b x:2 |a x:3"), std::string("a[1 3]b[2]"));
  CHECK_EQ(settled("|a x:1 |b x:2 |alpha x:3 |b x:4 |a x:5"), std::string("a[1]alpha[3]a[5]b[2 4]"));
  CHECK_EQ(settled("|b x:1 |a x:2 |b x:3 |a x:4 x:5"), std::string("b[1 3]a[2 4 5]"));
  CHECK_EQ(settled("|\xc3\xa9 x:1 |z x:2 |\xc3\xa8 x:3 |\xc3\xa9 x:4"),
           std::string("\xc3\xa9[1]\xc3\xa8[3]\xc3\xa9[4]z[2]"));
}

TEST(empty_runs_are_dropped_and_told) {
  CHECK_EQ(settled("|a |b x:1 |c |a"), std::string("b[1]-a-c-a"));
  CHECK_EQ(settled("|"), std::string("- "));
  CHECK_EQ(settled("|a x:0 |b x:1"), std::string("b[1]-a"));
}

TEST(an_example_that_is_settled_stays_so) {
  Rng rng(5);
  Groups groups;
  Example example;
  std::vector<std::uint32_t> empty;
  for (int i = 0; i < 2000; ++i) {
    CHECK(parse_line(random_line(rng), groups, example));
    example.order_runs(groups, empty);
    const Example before = example;
    example.order_runs(groups, empty);
    CHECK(empty.empty());
    CHECK(example.hashes == before.hashes);
    CHECK_EQ(example.runs.size(), before.runs.size());
  }
}

TEST(the_map_finds_what_was_added) {
  IndexMap map;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  Rng rng(6);
  for (std::uint32_t n = 0; n < 50000; ++n) {
    const auto any = static_cast<std::uint32_t>(rng.bits());
    const std::uint32_t index = rng.chance(2) ? rng.below(1U << 18) : any;
    CHECK_EQ(map.find(index) == IndexMap::kNone, numbers.count(index) == 0);
    if (numbers.count(index) > 0) continue;
    map.add(index, n);
    numbers[index] = n;
  }
  CHECK_EQ(map.size(), numbers.size());
  for (const auto& [index, number] : numbers) CHECK_EQ(map.find(index), number);
  std::size_t visits = 0;
  map.each([&](std::uint32_t index, std::uint32_t number) {
    CHECK_EQ(numbers.at(index), number);
    ++visits;
  });
  CHECK_EQ(visits, numbers.size());
  CHECK(map.bytes() >= 16 * numbers.size());
}

TEST(the_map_takes_extreme_indices) {
  IndexMap map;
  map.add(0xffffffffU, 1);
  map.add(0, 2);
  map.add(0x80000000U, 0);
  CHECK_EQ(map.find(0xffffffffU), 1U);
  CHECK_EQ(map.find(0), 2U);
  CHECK_EQ(map.find(0x80000000U), 0U);
  CHECK_EQ(map.find(1), IndexMap::kNone);
}

TEST(the_seen_set_tells_what_is_new) {
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

TEST(a_pod_grows_and_moves) {
  Pod<std::uint32_t> pod;
  for (std::uint32_t i = 0; i < 1000; ++i) pod.push_back(i);
  Pod<std::uint32_t> other = std::move(pod);
  CHECK(pod.empty() && pod.capacity() == 0);  // what was moved from can be used again
  pod.push_back(7);
  CHECK_EQ(pod[0], 7U);
  CHECK_EQ(other.size(), std::size_t{1000});
  const Pod<std::uint32_t> copy = other;
  CHECK(copy == other && copy != pod);
  other.append(copy.begin(), copy.end());
  CHECK_EQ(other.size(), std::size_t{2000});
  CHECK_EQ(other[1999], 999U);
  other.append(nullptr, nullptr);
  other.resize(3);
  CHECK_EQ(other.back(), 2U);
}

TEST(floats_begin_at_a_cache_line) {
  for (const std::size_t size : {1, 16, 1000}) {
    const AlignedFloats floats(size);
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(floats.get()) % 64, std::uintptr_t{0});
    for (std::size_t i = 0; i < size; ++i) CHECK_EQ(floats.get()[i], 0.0F);
  }
  CHECK_EQ(AlignedFloats().size(), std::size_t{0});
}
