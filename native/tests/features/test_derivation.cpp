// Derived groups: the features that are made of a value.
#include <algorithm>
#include <set>

#include "support/line_derivation.hpp"

using namespace chacha;

TEST(a_value_is_shared_by_the_knots_around_it) {
  LineDerivation lines;
  lines.add("bins(a,3)", "bins", "a", 3);
  teach(lines, {1, 2, 3, 4, 5, 6, 7});
  CHECK_EQ(lines.make("bins(a,3)", "|a x:4"), "");  // one value is missing
  teach(lines, {9});
  CHECK_EQ(lines.make("bins(a,3)", "|a x:2.5"), "x@1:0.5 x@4:0.5");
  CHECK_EQ(lines.make("bins(a,3)", "|a x:3.25"), "x@1:0.25 x@4:0.75");
  CHECK_EQ(lines.make("bins(a,3)", "|a x:4"), "x@4:1");
  CHECK_EQ(lines.make("bins(a,3)", "|a x:1"), "x@1:1");
  CHECK_EQ(lines.make("bins(a,3)", "|a x:9"), "x@9:1");
  CHECK_EQ(lines.make("bins(a,3)", "|a x:-100"), "x@1:1");
  CHECK_EQ(lines.make("bins(a,3)", "|a x:1e9"), "x@9:1");
  CHECK_EQ(lines.make("bins(a,3)", "|a x:4 x:9"), "x@4:1 x@9:1");  // twice is twice
  CHECK_EQ(lines.make("bins(a,3)", "|b x:4 |a y:2"), "");
}

// Many knots, which are found by binary search, and few, which are counted.
TEST(bins_of_any_size_find_their_knots) {
  for (const int k : {2, 3, 4, 5, 31, 32, 33, 34, 63, 64, 65, 200, 1024}) {
    LineDerivation lines(1500);
    lines.add("bins", "bins", "a", k);
    Rng rng(static_cast<std::uint64_t>(k));
    ColumnStats stats;
    stats.reserve(1500);
    for (int i = 0; i < 1500; ++i) {
      const double value = 2.0 * rng.below(50000) + 2.0;  // whole ones are read exactly
      teach(lines, {value});
      stats.observe(static_cast<double>(static_cast<float>(value)));
    }
    const std::vector<double> knots = stats.knots(static_cast<std::size_t>(k));
    for (std::size_t i = 0; i < knots.size(); ++i) {
      const auto at = static_cast<double>(knots[i]);
      CHECK_EQ(lines.make("bins", print("|a x:%.9g", at)), "x@" + short_text(knots[i]) + ":1");
      if (i + 1 == knots.size()) continue;
      const double middle = (at + static_cast<double>(knots[i + 1])) / 2.0;
      CHECK_EQ(lines.make("bins", print("|a x:%.12g", middle)),
               "x@" + short_text(knots[i]) + ":0.5 x@" + short_text(knots[i + 1]) + ":0.5");
    }
  }
}

TEST(logarithms_keep_the_sign) {
  LineDerivation lines(3);
  lines.add("log(a)", "log", "a");
  teach(lines, {1, 2, 3});
  CHECK_EQ(lines.make("log(a)", "|a x:3 y:2"), "x:1.3862944");
  CHECK_EQ(lines.make("log(a)", "|a x:-3"), "x:-1.3862944");
  lines.learn("0 |a y:1");
  lines.learn("0 |a y:1");
  lines.learn("0 |a y:5");
  CHECK_EQ(lines.make("log(a)", "|a y:3"), "");  // of two values nothing is gained
}

TEST(codes_become_features_of_their_own) {
  LineDerivation lines(4);
  lines.add("onehot(a)", "onehot", "a");
  teach(lines, {3, 1, 3, 7});
  CHECK_EQ(lines.make("onehot(a)", "|a x:3"), "x=3:1");
  CHECK_EQ(lines.make("onehot(a)", "|a x:1 x:7"), "x=1:1 x=7:1");
  // A new value has the feature that it will have once it is learned.
  lines.read("|a x:12");
  lines.need({"onehot(a)"});
  lines.derivation.derive(lines.example, false, lines.names);
  const std::uint32_t hash = hash_name("x=12", lines.groups.seed(lines.groups.number("onehot(a)")));
  CHECK_EQ(lines.runs(), "a:1 onehot(a):1 ");
  CHECK_EQ(lines.example.hashes[1], hash);
  teach(lines, {12});
  CHECK_EQ(lines.make("onehot(a)", "|a x:12"), "x=12:1");
  CHECK_EQ(lines.example.hashes[1], hash);
  const std::uint32_t seed = lines.groups.seed(lines.groups.number("onehot(a)"));
  CHECK_EQ(lines.make("onehot(a)", "|a x:0.5"),
           std::to_string(hash_name("x=0.5", seed) - seed) + ":1");  // as a number
}

TEST(beyond_64_values_is_other) {
  LineDerivation lines(64);
  lines.add("onehot(a)", "onehot", "a");
  std::vector<double> values;
  for (int i = 1; i <= 64; ++i) values.push_back(i);
  teach(lines, values);
  for (int i = 1; i <= 64; ++i)
    CHECK_EQ(lines.make("onehot(a)", print("|a x:%d", i)), print("x=%d:1", i));
  CHECK_EQ(lines.make("onehot(a)", "|a x:65"), "x=other:1");
  CHECK_EQ(lines.make("onehot(a)", "|a x:-4.5"), "x=other:1");
  teach(lines, {65});
  CHECK_EQ(lines.make("onehot(a)", "|a x:65"), "x=other:1");
  LineDerivation few(3);
  few.add("onehot(a)", "onehot", "a");
  teach(few, {1, 2, 1});
  for (int i = 3; i <= 100; ++i) teach(few, {static_cast<double>(i)});
  CHECK_EQ(few.make("onehot(a)", "|a x:64"), "x=64:1");
  CHECK_EQ(few.make("onehot(a)", "|a x:65"), "x=other:1");
}

TEST(hours_go_round) {
  LineDerivation lines(4);
  lines.add("cyclic(a,24)", "cyclic", "a", 24);
  teach(lines, {3, 12, 6, 21});                                // 12 is in the middle
  CHECK_EQ(lines.make("cyclic(a,24)", "|a x:18"), "x.sin:1");  // the cosine is 0, and left out
  CHECK_EQ(lines.make("cyclic(a,24)", "|a x:24"), "x.cos:-1");
  CHECK_EQ(lines.make("cyclic(a,24)", "|a x:12"), "x.cos:1");
  CHECK_EQ(lines.make("cyclic(a,24)", "|a x:42"), "x.sin:1");
  CHECK_EQ(lines.make("cyclic(a,24)", "|a x:14"), "x.sin:0.5 x.cos:0.8660254");
  CHECK_EQ(lines.make("cyclic(a,24)", "|a x:10"), "x.sin:-0.5 x.cos:0.8660254");
  const std::vector<std::vector<double>> wrong = {
      {1, 26, 3, 4}, {-21, 2, 3, 4}, {1, 1.41421, 1.73205, 2}, {5, 5, 5, 5}};
  for (const std::vector<double>& no : wrong) {
    LineDerivation other(4);
    other.add("cyclic(a,24)", "cyclic", "a", 24);
    teach(other, no);
    CHECK_EQ(other.make("cyclic(a,24)", "|a x:3"), "");
  }
}

TEST(turns_that_were_looked_up_are_the_same_again) {
  LineDerivation lines(4);
  lines.add("cyclic(a,366)", "cyclic", "a", 366);
  teach(lines, {1, 366, 6, 23});
  std::vector<std::string> first;
  for (int pass = 0; pass < 3; ++pass) {
    for (int i = 1; i <= 1000; ++i) {
      const std::string found = lines.make("cyclic(a,366)", print("|a x:%d", i));
      if (pass == 0) first.push_back(found);
      CHECK_EQ(found, first[static_cast<std::size_t>(i - 1)]);
    }
  }
}

TEST(lags_are_the_last_examples) {
  LineDerivation lines;
  lines.add("lag(a,3)", "lag", "a", 3);
  lines.add("lag(label,2)", "lag", "", 2);
  CHECK_EQ(lines.make("lag(a,3)", "|a x:5"), "");
  CHECK_EQ(lines.make("lag(label,2)", "|a x:5"), "");
  lines.learn("7 |a x:1");
  CHECK_EQ(lines.make("lag(a,3)", "|a x:5"), "x.1:1");
  CHECK_EQ(lines.make("lag(label,2)", "|c"), "label.1:7");
  lines.learn("0 |a x:2 y:10");
  CHECK_EQ(lines.make("lag(a,3)", "|b z"), "x.1:2 x.2:1 y.1:10");
  CHECK_EQ(lines.make("lag(label,2)", "|c"), "label.2:7");  // a 0 is not a feature
  lines.learn("-1 |b z");                                   // what an example does not have is 0
  CHECK_EQ(lines.make("lag(a,3)", "|b z"), "x.2:2 x.3:1 y.2:10");
  CHECK_EQ(lines.make("lag(label,2)", "|c"), "label.1:-1");
  lines.learn("3 |a x:4 x:5");  // the last one counts
  CHECK_EQ(lines.make("lag(a,3)", "|b z"), "x.1:5 x.3:2 y.3:10");
  CHECK_EQ(lines.make("lag(label,2)", "|c"), "label.1:3 label.2:-1");
  CHECK_EQ(lines.derivation.clock(lines.groups.number("lag(a,3)")), 4U);
}

TEST(means_forget) {
  LineDerivation lines;
  lines.add("ewma(a,0.5)", "ewma", "a", 0.5);
  lines.add("ewma(label,0.25)", "ewma", "", 0.25);
  CHECK_EQ(lines.make("ewma(a,0.5)", "|a x:5"), "");
  lines.learn("8 |a x:4");
  CHECK_EQ(lines.make("ewma(a,0.5)", "|a x:5"), "x:4");  // the first is the mean
  lines.learn("4 |a x:2 y:6");
  CHECK_EQ(lines.make("ewma(a,0.5)", "|a x:5"), "x:3 y:3");  // y was 0 before
  CHECK_EQ(lines.make("ewma(label,0.25)", "|a x:5"), "label:7");
  lines.learn("7 |b z");
  CHECK_EQ(lines.make("ewma(a,0.5)", "|a x:5"), "x:1.5 y:1.5");
}

TEST(the_past_begins_when_it_is_asked_for) {
  LineDerivation lines;
  lines.learn("1 |a x:1");
  lines.add("lag(a,2)", "lag", "a", 2);
  lines.add("lag(label,2)", "lag", "", 2);
  lines.add("ewma(a,0.5)", "ewma", "a", 0.5);
  CHECK_EQ(lines.make("lag(a,2)", "|a x:1"), "");
  lines.learn("2 |a x:8");
  CHECK_EQ(lines.make("lag(a,2)", "|a x:1"), "x.1:8");
  CHECK_EQ(lines.make("lag(label,2)", "|a x:1"), "label.1:2");
  CHECK_EQ(lines.make("ewma(a,0.5)", "|a x:1"), "x:8");
}
