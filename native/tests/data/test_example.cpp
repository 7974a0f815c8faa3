// The runs of an example, in VW's order.
#include <string>
#include <vector>

#include "data/example.hpp"
#include "data/text_parser.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

// Parses a line and orders its runs: `name[values]` of every run, then the groups that were empty.
std::string ordered(const std::string& line) {
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
  CHECK_EQ(ordered("|a x:1 |b x:2 |c x:3"), std::string("a[1]b[2]c[3]"));
  CHECK_EQ(ordered("|c x:1 |a x:2"), std::string("c[1]a[2]"));
}

TEST(neighbours_of_one_group_are_joined) {
  CHECK_EQ(ordered("|a x:1 |a x:2 |b x:3"), std::string("a[1 2]b[3]"));
  CHECK_EQ(ordered("|a x:1 |b |a x:2"), std::string("a[1 2]-b"));
  CHECK_EQ(ordered("|alpha x:1 |alpha x:2 |a x:3 |alpha x:4"),
           std::string("alpha[1 2]a[3]alpha[4]"));
}

TEST(letters_that_come_back_are_brought_together) {
  CHECK_EQ(ordered("|a x:1 |b x:2 |a x:3"), std::string("a[1 3]b[2]"));
  CHECK_EQ(ordered("|a x:1 |b x:2 |alpha x:3 |b x:4 |a x:5"),
           std::string("a[1]alpha[3]a[5]b[2 4]"));
  CHECK_EQ(ordered("|b x:1 |a x:2 |b x:3 |a x:4 x:5"), std::string("b[1 3]a[2 4 5]"));
  CHECK_EQ(ordered("|\xc3\xa9 x:1 |z x:2 |\xc3\xa8 x:3 |\xc3\xa9 x:4"),
           std::string("\xc3\xa9[1]\xc3\xa8[3]\xc3\xa9[4]z[2]"));
}

TEST(empty_runs_are_dropped_and_listed) {
  CHECK_EQ(ordered("|a |b x:1 |c |a"), std::string("b[1]-a-c-a"));
  CHECK_EQ(ordered("|"), std::string("- "));
  CHECK_EQ(ordered("|a x:0 |b x:1"), std::string("b[1]-a"));
}

TEST(ordering_twice_changes_nothing) {
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
