// Derived groups: their place in an example, and the columns that are tracked.
#include <algorithm>
#include <cmath>
#include <set>

#include "support/line_derivation.hpp"

using namespace chacha;

TEST(derived_groups_come_behind_by_name) {
  LineDerivation lines(2);
  for (const char* name : {"z(a)", "b(a)", "m(a)", "bb(a)"}) lines.add(name, "lag", "a", 1);
  lines.need({"z(a)", "m(a)", "b(a)", "z(a)", "nothing", "bb(a)"});
  lines.learn("1 |c q |a x:3 y:2");
  lines.read("1 |c q |a x:3 |b w");
  lines.derivation.derive(lines.example, false, lines.names);
  CHECK_EQ(lines.runs(), "c:1 a:1 b:1 b(a):2 bb(a):2 m(a):2 z(a):2 ");
  CHECK(lines.example.has_derived());
  CHECK_EQ(lines.example.raw_runs(), std::size_t{3});
  CHECK_EQ(lines.example.raw_features(), std::size_t{3});
  lines.derivation.derive(lines.example, false, lines.names);  // once more: the same
  CHECK_EQ(lines.runs(), "c:1 a:1 b:1 b(a):2 bb(a):2 m(a):2 z(a):2 ");
  CHECK_EQ(lines.derivation.derive_group(lines.example, lines.groups.number("z(a)")).end, 13U);
  lines.need({"m(a)"});
  lines.derivation.derive(lines.example, false, lines.names);
  CHECK_EQ(lines.runs(), "c:1 a:1 b:1 m(a):2 ");
  lines.need({});
  lines.derivation.derive(lines.example, false, lines.names);
  CHECK_EQ(lines.runs(), "c:1 a:1 b:1 ");
  CHECK(!lines.example.has_derived());
}

TEST(given_groups_are_set_apart) {
  LineDerivation lines(2);
  lines.add("own(f)", "own", "own(f)");
  lines.add("bins(a,3)", "bins", "a", 3);
  const std::string line =
      "1 |own(f) p:2 |a x:1 |missing(a) y |own(f) q:0.5 |b z |a w:3 |bins(a,3) mine";
  lines.read(line);
  CHECK_EQ(lines.runs(), "a:2 b:1 ");
  CHECK(lines.derivation.has_given());
  lines.derivation.derive(lines.example, false, lines.names);
  CHECK_EQ(lines.runs(), "a:2 b:1 ");  // no model uses them
  lines.need({"own(f)", "missing(a)", "bins(a,3)"});
  lines.derivation.derive(lines.example, false, lines.names);
  CHECK_EQ(lines.runs(), "a:2 b:1 bins(a,3):1 missing(a):1 own(f):2 ");
  const std::uint32_t seed = lines.groups.seed(lines.groups.number("own(f)"));
  CHECK_EQ(lines.example.hashes[5], hash_name("p", seed));
  CHECK_EQ(lines.example.hashes[6], hash_name("q", seed));
  CHECK(lines.example.values[5] == 2.0F && lines.example.values[6] == 0.5F);
  CHECK_EQ(lines.example.hashes[3],
           hash_name("mine", lines.groups.seed(lines.groups.number("bins(a,3)"))));
  lines.read("1 |a x:1 |b y");
  CHECK(!lines.derivation.has_given());
  lines.derivation.derive(lines.example, false, lines.names);
  CHECK_EQ(lines.runs(), "a:1 b:1 ");  // what was given is given once
  lines.read("1 |missing(a) |own(f)");
  CHECK_EQ(lines.runs(), "");
  lines.derivation.derive(lines.example, true, lines.names);
  CHECK_EQ(lines.runs(), "");
}

TEST(missing_cells_are_noted_when_they_are_learned) {
  LineDerivation lines(2);
  const std::uint32_t missing = lines.groups.number("missing(a)");
  CHECK(!lines.derivation.is_derived(missing));
  lines.read("1 |a x:1 |missing(a) y");
  CHECK(lines.derivation.is_derived(missing));
  lines.derivation.derive(lines.example, false, lines.names);
  CHECK(lines.derivation.missing_groups().empty());
  const std::uint64_t before = lines.derivation.version();
  lines.learn("1 |missing(b) y |missing(a) y |own(x) z");
  CHECK_EQ(lines.derivation.missing_groups().size(), std::size_t{2});
  CHECK_EQ(lines.derivation.version(), before + 3);  // own(x) is a column of its own
  lines.learn("1 |missing(b) y |missing(a) y |own(x) z");
  CHECK_EQ(lines.derivation.missing_groups().size(), std::size_t{2});
  CHECK_EQ(lines.derivation.version(), before + 3 + 1);  // own(x) is ready
}

TEST(before_it_is_on_nothing_is_derived) {
  Groups groups;
  Derivation derivation(groups);
  Example example;
  TextNames names;
  derivation.add(groups.number("lag(a,1)"), kind_named("lag"), groups.number("a"), 1);
  derivation.add(groups.number("lag(label,1)"), kind_named("lag"), kLabel, 1);
  derivation.need(derivation.find_needed({groups.number("lag(a,1)")}));
  for (int i = 0; i < 3; ++i) {
    CHECK(parse_line("1 |a x:2 |missing(a) y", groups, example));
    derivation.set_apart(example);
    derivation.derive(example, true, names);
    CHECK_EQ(example.runs.size(), std::size_t{2});
    derivation.observe(example);
    CHECK(derivation.named_features(example, groups.number("lag(label,1)")).empty());
    CHECK_EQ(derivation.derive_group(example, groups.number("lag(a,1)")).end, 0U);
  }
  CHECK(derivation.columns().empty() && derivation.missing_groups().empty());
  derivation.turn_on(2);
  for (int i = 0; i < 2; ++i) {
    CHECK(parse_line("1 |a x:2 |missing(a) y", groups, example));
    derivation.set_apart(example);
    derivation.derive(example, true, names);
    CHECK_EQ(example.runs.size(), static_cast<std::size_t>(1 + i));
    derivation.observe(example);
  }
}

TEST(predicting_is_a_pure_read) {
  LineDerivation lines(3), untouched(3);
  Rng rng(9), other(10);
  for (LineDerivation* each : {&lines, &untouched}) {
    for (const DerivedGroup& one : derived_groups())
      each->add(one.name, one.kind, one.source, one.parameter);
    each->need(derived_group_names());
  }
  for (int i = 0; i < 300; ++i) {
    const std::string line = numeric_line(rng);
    lines.learn(line);
    untouched.learn(line);
    const std::string before = lines.seen();
    for (int k = 0; k < 3; ++k) {
      lines.read(numeric_line(other, false) +
                 print(" |a new%d:3 |fresh%d x:1 |missing(q%d) z", i, i, i));
      lines.derivation.derive(lines.example, false, lines.names);
      lines.derivation.named_features(
          lines.example, lines.groups.number(derived_group_names()[static_cast<std::size_t>(k)]));
    }
    CHECK_EQ(lines.seen(), before);
    CHECK_EQ(untouched.seen(), before);
  }
}

// An example may fail after it was derived: then its new columns are removed.
TEST(what_was_not_learned_is_forgotten) {
  LineDerivation lines(3), untouched(3);
  Rng rng(11), other(12);
  for (LineDerivation* each : {&lines, &untouched}) {
    for (const DerivedGroup& one : derived_groups())
      each->add(one.name, one.kind, one.source, one.parameter);
    each->need(derived_group_names());
  }
  for (int i = 0; i < 300; ++i) {
    for (int k = 0; k < 2; ++k) {
      lines.read(numeric_line(other) +
                 print(" |a new%d:3 n%d:2 |fresh%d x:1 |missing(q%d) z", i, k, k, i));
      lines.derivation.derive(lines.example, true, lines.names);
    }
    const std::string line = numeric_line(rng);
    lines.learn(line);
    untouched.learn(line);
    CHECK_EQ(lines.seen(), untouched.seen());
  }
}

TEST(a_group_has_at_most_256_columns) {
  LineDerivation lines(2);
  lines.add("lag(a,1)", "lag", "a", 1);
  std::string line = "1 |a";
  for (int i = 0; i < 300; ++i) line += print(" c%d:%d", i, i + 1);
  lines.learn(line + " |b x:1");
  CHECK_EQ(lines.derivation.columns().size(), kMostColumns + 1);
  CHECK_EQ(*lines.derivation.columns()[255].name, "c255");
  const std::string features = lines.make("lag(a,1)", line);
  CHECK(features.find("c255.1:256") != std::string::npos);
  CHECK(features.find("c256.1") == std::string::npos);
  for (int i = 0; i < 3; ++i) lines.learn(line + print(" more%d:1", i));
  CHECK_EQ(lines.derivation.columns().size(), kMostColumns + 1);
  CHECK_EQ(lines.make("lag(a,1)", "|a c299:1 c0:2"), features);
}

TEST(all_groups_have_at_most_4096_columns) {
  LineDerivation lines(2);
  std::string line = "1";
  for (int g = 0; g < 20; ++g) {
    line += print(" |%c%d", 'a' + g, g);
    for (int i = 0; i < 230; ++i) line += print(" c%d:%d", i, i + 1);
  }
  for (int i = 0; i < 3; ++i) lines.learn(line);
  CHECK_EQ(lines.derivation.columns().size(), kMostTracked);
  lines.learn("1 |zoo x:1");
  CHECK_EQ(lines.derivation.columns().size(), kMostTracked);
  CHECK(lines.derivation.bytes() > kMostTracked * 500);
  // Columns that are removed make room.
  LineDerivation tight(2);
  tight.read(line);
  tight.derivation.derive(tight.example, true, tight.names);
  tight.learn("1 |zoo x:1");
  CHECK_EQ(tight.derivation.columns().size(), std::size_t{1});
}

TEST(groups_that_stand_twice_are_one_source) {
  LineDerivation apart(4), together(4);
  for (LineDerivation* each : {&apart, &together}) {
    each->groups.number("a");
    each->groups.number("alpha");
    each->groups.number("b");
    for (const DerivedGroup& one : derived_groups())
      each->add(one.name, one.kind, one.source, one.parameter);
    each->need(derived_group_names());
  }
  Rng rng(13);
  for (int i = 0; i < 60; ++i) {
    const int x = static_cast<int>(rng.below(9)) + 1, y = static_cast<int>(rng.below(5)) + 1;
    apart.learn(print("%d |a x:%d |alpha q |a y:%d |b k:%d |a x:2", i % 3, x, y, x));
    together.learn(print("%d |a x:%d y:%d x:2 |alpha q |b k:%d", i % 3, x, y, x));
    CHECK_EQ(apart.seen(), together.seen());
    for (const std::string& name : derived_group_names()) {
      CHECK_EQ(apart.make(name, print("|b k:1 |a x:%d |alpha q |a y:%d", y, x)),
               together.make(name, print("|b k:1 |a x:%d y:%d |alpha q", y, x)));
    }
  }
}

TEST(zeros_are_not_there) {
  LineDerivation lines(3);
  for (const DerivedGroup& one : derived_groups())
    lines.add(one.name, one.kind, one.source, one.parameter);
  for (int i = 0; i < 20; ++i) lines.learn("1 |a x:0 |b k:0 |hour h:0");
  CHECK(lines.derivation.columns().empty());
  teach(lines, {1, 2, 3});
  for (const std::string& name : derived_group_names()) {
    const bool past = name.rfind("lag", 0) == 0 || name.rfind("ewma", 0) == 0;
    if (!past) CHECK_EQ(lines.make(name, "|a x:0 y:0"), "");
  }
}

TEST(wrong_groups_are_refused) {
  LineDerivation lines;
  const auto add = [&](const char* kind, const std::string& source, double parameter) {
    lines.add(print("wrong%s(%s,%g)", kind, source.c_str(), parameter), kind, source, parameter);
  };
  const double nan = std::nan("");
  for (const double no : {1.0, 0.0, -3.0, 2.5, 1e9, nan})
    CHECK_THROWS(add("bins", "a", no), std::invalid_argument);
  for (const double no : {0.0, 1.5, 1e9, nan})
    CHECK_THROWS(add("lag", "a", no), std::invalid_argument);
  for (const double no : {-0.5, 0.0, 1.5, nan})
    CHECK_THROWS(add("ewma", "a", no), std::invalid_argument);
  for (const double no : {-2.0, 0.0, HUGE_VAL, nan}) {
    CHECK_THROWS(add("cyclic", "a", no), std::invalid_argument);
  }
  add("cyclic", "a", 0.024);
  add("cyclic", "a", 365.25);
  for (const double no : {1.0, nan}) CHECK_THROWS(add("log", "a", no), std::invalid_argument);
  CHECK_THROWS(add("given", "a", 0.0), std::invalid_argument);
  CHECK_THROWS(add("bins", "", 3), std::invalid_argument);
  CHECK_THROWS(add("log", "", 0), std::invalid_argument);
  const std::uint32_t group = lines.add("lag(a,1)", "lag", "a", 1);
  lines.add("lag(a,1)", "bins", "b", 8);  // the first stays
  lines.learn("1 |a x:3");
  CHECK_EQ(lines.derivation.bases(group).size(), std::size_t{1});
  CHECK_EQ(lines.make("lag(a,1)", "|b y"), "x.1:3");
  CHECK_EQ(lines.make("unknown", "|b y"), "");
  CHECK(lines.derivation.bases(lines.groups.number("unknown")).empty());
  CHECK_EQ(lines.derivation.derive_group(lines.example, lines.groups.number("unknown")).end, 0U);
}

TEST(groups_that_are_derived_late_know_the_columns) {
  LineDerivation early(4), late(4);
  Rng rng(14);
  for (const DerivedGroup& one : derived_groups())
    early.add(one.name, one.kind, one.source, one.parameter);
  for (int i = 0; i < 100; ++i) {
    const std::string line = numeric_line(rng);
    if (line.find("|bins") != std::string::npos || line.find("|own") != std::string::npos) continue;
    early.learn(line);
    late.learn(line);
  }
  for (const DerivedGroup& one : derived_groups())
    late.add(one.name, one.kind, one.source, one.parameter);
  for (int i = 0; i < 30; ++i) {
    const std::string line = numeric_line(rng, false);
    for (const DerivedGroup& one : derived_groups()) {
      if (one.kind == "lag" || one.kind == "ewma") continue;
      CHECK_EQ(early.make(one.name, line), late.make(one.name, line));
    }
  }
}

TEST(all_kinds_are_what_a_naive_derivation_gives) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const std::size_t first = seed % 3 == 0 ? 1 : 5 + 11 * seed;
    LineDerivation lines(first);
    NaiveDerivation naive(first);
    for (const DerivedGroup& one : derived_groups())
      lines.add(one.name, one.kind, one.source, one.parameter);
    lines.need(derived_group_names());
    Rng rng(500 + seed);
    for (int i = 0; i < 400; ++i) {
      const std::string line = numeric_line(rng);
      lines.read(line);
      const std::vector<Raw> raw = raw_of(lines.example, lines.groups);
      lines.derivation.derive(lines.example, true, lines.names);
      for (const DerivedGroup& one : derived_groups()) {
        const std::uint32_t group = lines.groups.number(one.name);
        Features derived;
        std::uint32_t absent = 0;
        for (std::size_t r = lines.example.raw_runs(); r < lines.example.runs.size(); ++r) {
          const Run run = lines.example.runs[r];
          for (std::uint32_t k = run.begin; run.group == group && k < run.end; ++k) {
            if (is_absent(lines.example.values[k])) {
              ++absent;
            } else {
              derived.emplace_back(print("%08x", lines.example.hashes[k]), lines.example.values[k]);
            }
          }
        }
        if (line.find("|" + one.name) != std::string::npos) {
          CHECK(!derived.empty());  // it was given
          continue;
        }
        Features expected = naive.make(one, raw);
        for (auto& [name, value] : expected)
          name = print("%08x", hash_name(name, lines.groups.seed(group)));
        CHECK_EQ(LineDerivation::show(derived), LineDerivation::show(expected));
        // The screen is given the same.
        const std::uint32_t before = static_cast<std::uint32_t>(lines.example.hashes.size());
        const std::size_t room = lines.example.hashes.capacity();
        const Run run = lines.derivation.derive_group(lines.example, group);
        CHECK_EQ(run.end - run.begin, static_cast<std::uint32_t>(expected.size()) + absent);
        CHECK(run.end == run.begin || run.begin == before);
        CHECK_EQ(lines.example.hashes.capacity(), room);  // it was made before
        lines.example.runs.resize(lines.example.runs.size() - (run.end > run.begin ? 1 : 0));
        lines.example.hashes.resize(before);
        lines.example.values.resize(before);
      }
      lines.derivation.observe(lines.example);
      naive.observe(raw, lines.example.label, [&](const Raw& one) {
        return lines.names.name(lines.groups, lines.groups.number(one.group), one.hash);
      });
    }
  }
}

// A repeated feature gives repeated derived features: there is room for all of them.
TEST(there_is_room_for_whatever_the_screen_asks_for) {
  LineDerivation lines(3);
  for (const DerivedGroup& one : derived_groups())
    lines.add(one.name, one.kind, one.source, one.parameter);
  for (int i = 1; i <= 3; ++i) lines.learn(print("%d |a x:%d |b k:%d |hour h:%d", i, i, i, i));
  std::string line = "1 |a";
  for (int i = 0; i < 500; ++i) line += " x:1.5";
  line += " |hour";
  for (int i = 0; i < 500; ++i) line += " h:1.5";
  lines.read(line + " |missing(a) x y z");
  lines.derivation.derive(lines.example, true, lines.names);
  const std::size_t room = lines.example.hashes.capacity();
  const std::size_t room_for_runs = lines.example.runs.capacity();
  for (const std::string& name : derived_group_names())
    lines.derivation.derive_group(lines.example, lines.groups.number(name));
  CHECK(lines.example.hashes.size() > 5000);
  CHECK_EQ(lines.example.hashes.capacity(), room);
  CHECK_EQ(lines.example.values.capacity(), lines.example.hashes.capacity());
  CHECK_EQ(lines.example.runs.capacity(), room_for_runs);
}

TEST(names_come_from_the_line) {
  LineDerivation lines(2);
  lines.learn("1 |a x:2 color:red 17:3 :4 :5 |a:0.5 y |b x");
  std::set<std::string> names;
  for (const auto& [group, name, stats] : lines.derivation.columns()) {
    names.insert(lines.groups[group].name + "." + *name);
  }
  CHECK((names == std::set<std::string>{"a.x", "a.color=red", "a.17", "a.0", "a.1", "a.y", "b.x"}));
}
