// Derived groups: where they stand in an example, and which columns are known.
#include <algorithm>
#include <set>

#include "support/maker.hpp"

using namespace chacha;

TEST(derived_groups_come_behind_by_name) {
  Maker maker(2);
  for (const char* name : {"z(a)", "b(a)", "m(a)", "bb(a)"}) maker.add(name, Kind::kLag, "a", 1);
  maker.need({"z(a)", "m(a)", "b(a)", "z(a)", "nothing", "bb(a)"});
  maker.learn("1 |c q |a x:3 y:2");
  maker.read("1 |c q |a x:3 |b w");
  maker.derivation.derive(maker.example, false, maker.names);
  CHECK_EQ(maker.runs(), "c:1 a:1 b:1 b(a):2 bb(a):2 m(a):2 z(a):2 ");
  CHECK(maker.example.has_derived());
  CHECK_EQ(maker.example.raw_runs(), std::size_t{3});
  CHECK_EQ(maker.example.raw_features(), std::size_t{3});
  maker.derivation.derive(maker.example, false, maker.names);  // once more: the same
  CHECK_EQ(maker.runs(), "c:1 a:1 b:1 b(a):2 bb(a):2 m(a):2 z(a):2 ");
  CHECK_EQ(maker.derivation.more(maker.example, maker.groups.number("z(a)")).end, 13U);
  maker.need({"m(a)"});
  maker.derivation.derive(maker.example, false, maker.names);
  CHECK_EQ(maker.runs(), "c:1 a:1 b:1 m(a):2 ");
  maker.need({});
  maker.derivation.derive(maker.example, false, maker.names);
  CHECK_EQ(maker.runs(), "c:1 a:1 b:1 ");
  CHECK(!maker.example.has_derived());
}

TEST(given_groups_are_set_apart) {
  Maker maker(2);
  maker.add("own(f)", Kind::kGiven, "own(f)");
  maker.add("bins(a,3)", Kind::kBins, "a", 3);
  const std::string line = "1 |own(f) p:2 |a x:1 |missing(a) y |own(f) q:0.5 |b z |a w:3 |bins(a,3) mine";
  maker.read(line);
  CHECK_EQ(maker.runs(), "a:2 b:1 ");
  CHECK(maker.derivation.has_given());
  maker.derivation.derive(maker.example, false, maker.names);
  CHECK_EQ(maker.runs(), "a:2 b:1 ");  // nobody wants them
  maker.need({"own(f)", "missing(a)", "bins(a,3)"});
  maker.derivation.derive(maker.example, false, maker.names);
  CHECK_EQ(maker.runs(), "a:2 b:1 bins(a,3):1 missing(a):1 own(f):2 ");
  const std::uint32_t seed = maker.groups.seed(maker.groups.number("own(f)"));
  CHECK_EQ(maker.example.hashes[5], hash_name("p", seed));
  CHECK_EQ(maker.example.hashes[6], hash_name("q", seed));
  CHECK(maker.example.values[5] == 2.0F && maker.example.values[6] == 0.5F);
  CHECK_EQ(maker.example.hashes[3], hash_name("mine", maker.groups.seed(maker.groups.number("bins(a,3)"))));
  maker.read("1 |a x:1 |b y");
  CHECK(!maker.derivation.has_given());
  maker.derivation.derive(maker.example, false, maker.names);
  CHECK_EQ(maker.runs(), "a:1 b:1 ");  // what was given is given once
  maker.read("1 |missing(a) |own(f)");
  CHECK_EQ(maker.runs(), "");
  maker.derivation.derive(maker.example, true, maker.names);
  CHECK_EQ(maker.runs(), "");
}

TEST(missing_cells_are_noted_when_they_are_learned) {
  Maker maker(2);
  const std::uint32_t missing = maker.groups.number("missing(a)");
  CHECK(!maker.derivation.knows(missing));
  maker.read("1 |a x:1 |missing(a) y");
  CHECK(maker.derivation.knows(missing));
  maker.derivation.derive(maker.example, false, maker.names);
  CHECK(maker.derivation.brought().empty());
  const std::uint64_t before = maker.derivation.version();
  maker.learn("1 |missing(b) y |missing(a) y |own(x) z");
  CHECK_EQ(maker.derivation.brought().size(), std::size_t{2});
  CHECK_EQ(maker.derivation.version(), before + 3);  // own(x) is a column of its own
  maker.learn("1 |missing(b) y |missing(a) y |own(x) z");
  CHECK_EQ(maker.derivation.brought().size(), std::size_t{2});
  CHECK_EQ(maker.derivation.version(), before + 3 + 1);  // own(x) is ready
}

TEST(before_it_is_on_nothing_is_derived) {
  Groups groups;
  Derivation derivation(groups);
  Example example;
  TextNames names;
  derivation.add(groups.number("lag(a,1)"), Kind::kLag, groups.number("a"), 1);
  derivation.add(groups.number("lag(label,1)"), Kind::kLag, kLabel, 1);
  derivation.need(derivation.find_needed({groups.number("lag(a,1)")}));
  for (int i = 0; i < 3; ++i) {
    CHECK(parse_line("1 |a x:2 |missing(a) y", groups, example));
    derivation.set_apart(example);
    derivation.derive(example, true, names);
    CHECK_EQ(example.runs.size(), std::size_t{2});
    derivation.observe(example);
    CHECK(derivation.named(example, groups.number("lag(label,1)")).empty());
    CHECK_EQ(derivation.more(example, groups.number("lag(a,1)")).end, 0U);
  }
  CHECK(derivation.columns().empty() && derivation.brought().empty());
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
  Maker maker(3), untouched(3);
  Rng rng(9), other(10);
  for (Maker* each : {&maker, &untouched}) {
    for (const Asked& one : asked()) each->add(one.name, one.kind, one.source, one.parameter);
    each->need(asked_names());
  }
  for (int i = 0; i < 300; ++i) {
    const std::string line = numeric_line(rng);
    maker.learn(line);
    untouched.learn(line);
    const std::string before = maker.seen();
    for (int k = 0; k < 3; ++k) {
      maker.read(numeric_line(other, false) + print(" |a new%d:3 |fresh%d x:1 |missing(q%d) z", i, i, i));
      maker.derivation.derive(maker.example, false, maker.names);
      maker.derivation.named(maker.example, maker.groups.number(asked_names()[static_cast<std::size_t>(k)]));
    }
    CHECK_EQ(maker.seen(), before);
    CHECK_EQ(untouched.seen(), before);
  }
}

// An example may fail after it was derived: what it showed is unknown as before.
TEST(what_was_not_learned_is_forgotten) {
  Maker maker(3), untouched(3);
  Rng rng(11), other(12);
  for (Maker* each : {&maker, &untouched}) {
    for (const Asked& one : asked()) each->add(one.name, one.kind, one.source, one.parameter);
    each->need(asked_names());
  }
  for (int i = 0; i < 300; ++i) {
    for (int k = 0; k < 2; ++k) {
      maker.read(numeric_line(other) + print(" |a new%d:3 n%d:2 |fresh%d x:1 |missing(q%d) z", i, k, k, i));
      maker.derivation.derive(maker.example, true, maker.names);
    }
    const std::string line = numeric_line(rng);
    maker.learn(line);
    untouched.learn(line);
    CHECK_EQ(maker.seen(), untouched.seen());
  }
}

TEST(a_group_has_at_most_256_columns) {
  Maker maker(2);
  maker.add("lag(a,1)", Kind::kLag, "a", 1);
  std::string line = "1 |a";
  for (int i = 0; i < 300; ++i) line += print(" c%d:%d", i, i + 1);
  maker.learn(line + " |b x:1");
  CHECK_EQ(maker.derivation.columns().size(), kMostColumns + 1);
  CHECK_EQ(*maker.derivation.columns()[255].name, "c255");
  const std::string found = maker.make("lag(a,1)", line);
  CHECK(found.find("c255.1:256") != std::string::npos);
  CHECK(found.find("c256.1") == std::string::npos);
  for (int i = 0; i < 3; ++i) maker.learn(line + print(" more%d:1", i));
  CHECK_EQ(maker.derivation.columns().size(), kMostColumns + 1);
  CHECK_EQ(maker.make("lag(a,1)", "|a c299:1 c0:2"), found);
}

TEST(all_groups_have_at_most_4096_columns) {
  Maker maker(2);
  std::string line = "1";
  for (int g = 0; g < 20; ++g) {
    line += print(" |%c%d", 'a' + g, g);
    for (int i = 0; i < 230; ++i) line += print(" c%d:%d", i, i + 1);
  }
  for (int i = 0; i < 3; ++i) maker.learn(line);
  CHECK_EQ(maker.derivation.columns().size(), kMostTracked);
  maker.learn("1 |zoo x:1");
  CHECK_EQ(maker.derivation.columns().size(), kMostTracked);
  CHECK(maker.derivation.bytes() > kMostTracked * 500);
  // Columns that are dropped again make room.
  Maker tight(2);
  tight.read(line);
  tight.derivation.derive(tight.example, true, tight.names);
  tight.learn("1 |zoo x:1");
  CHECK_EQ(tight.derivation.columns().size(), std::size_t{1});
}

TEST(groups_that_stand_twice_are_one_source) {
  Maker apart(4), together(4);
  for (Maker* each : {&apart, &together}) {
    each->groups.number("a");
    each->groups.number("alpha");
    each->groups.number("b");
    for (const Asked& one : asked()) each->add(one.name, one.kind, one.source, one.parameter);
    each->need(asked_names());
  }
  Rng rng(13);
  for (int i = 0; i < 60; ++i) {
    const int x = static_cast<int>(rng.below(9)) + 1, y = static_cast<int>(rng.below(5)) + 1;
    apart.learn(print("%d |a x:%d |alpha q |a y:%d |b k:%d |a x:2", i % 3, x, y, x));
    together.learn(print("%d |a x:%d y:%d x:2 |alpha q |b k:%d", i % 3, x, y, x));
    CHECK_EQ(apart.seen(), together.seen());
    for (const std::string& name : asked_names()) {
      CHECK_EQ(apart.make(name, print("|b k:1 |a x:%d |alpha q |a y:%d", y, x)),
               together.make(name, print("|b k:1 |a x:%d y:%d |alpha q", y, x)));
    }
  }
}

TEST(zeros_are_not_there) {
  Maker maker(3);
  for (const Asked& one : asked()) maker.add(one.name, one.kind, one.source, one.parameter);
  for (int i = 0; i < 20; ++i) maker.learn("1 |a x:0 |b k:0 |hour h:0");
  CHECK(maker.derivation.columns().empty());
  teach(maker, {1, 2, 3});
  for (const std::string& name : asked_names()) {
    const bool past = name.rfind("lag", 0) == 0 || name.rfind("ewma", 0) == 0;
    if (!past) CHECK_EQ(maker.make(name, "|a x:0 y:0"), "");
  }
}

TEST(wrong_groups_are_told) {
  Maker maker;
  const auto add = [&](Kind kind, const std::string& source, double parameter) {
    maker.add(print("wrong%d(%s,%g)", static_cast<int>(kind), source.c_str(), parameter), kind, source, parameter);
  };
  const double nan = std::nan("");
  for (const double no : {1.0, 0.0, -3.0, 1e9, nan}) CHECK_THROWS(add(Kind::kBins, "a", no), std::invalid_argument);
  for (const double no : {0.0, 1e9, nan}) CHECK_THROWS(add(Kind::kLag, "a", no), std::invalid_argument);
  for (const double no : {-0.5, 1.5, nan}) CHECK_THROWS(add(Kind::kEwma, "a", no), std::invalid_argument);
  CHECK_THROWS(add(Kind::kCyclic, "a", 0.0), std::invalid_argument);
  CHECK_THROWS(add(Kind::kBins, "", 3), std::invalid_argument);
  CHECK_THROWS(add(Kind::kLog, "", 0), std::invalid_argument);
  const std::uint32_t group = maker.add("lag(a,1)", Kind::kLag, "a", 1);
  maker.add("lag(a,1)", Kind::kBins, "b", 8);  // the first stays
  maker.learn("1 |a x:3");
  CHECK_EQ(maker.derivation.bases(group).size(), std::size_t{1});
  CHECK_EQ(maker.make("lag(a,1)", "|b y"), "x.1:3");
  CHECK_EQ(maker.make("unknown", "|b y"), "");
  CHECK(maker.derivation.bases(maker.groups.number("unknown")).empty());
  CHECK_EQ(maker.derivation.more(maker.example, maker.groups.number("unknown")).end, 0U);
}

TEST(groups_that_are_derived_late_know_the_columns) {
  Maker early(4), late(4);
  Rng rng(14);
  for (const Asked& one : asked()) early.add(one.name, one.kind, one.source, one.parameter);
  for (int i = 0; i < 100; ++i) {
    const std::string line = numeric_line(rng);
    if (line.find("|bins") != std::string::npos || line.find("|own") != std::string::npos) continue;
    early.learn(line);
    late.learn(line);
  }
  for (const Asked& one : asked()) late.add(one.name, one.kind, one.source, one.parameter);
  for (int i = 0; i < 30; ++i) {
    const std::string line = numeric_line(rng, false);
    for (const Asked& one : asked()) {
      if (one.kind == Kind::kLag || one.kind == Kind::kEwma) continue;
      CHECK_EQ(early.make(one.name, line), late.make(one.name, line));
    }
  }
}

TEST(all_kinds_are_what_a_naive_derivation_gives) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const std::size_t first = seed % 3 == 0 ? 1 : 5 + 11 * seed;
    Maker maker(first);
    NaiveDerivation naive(first);
    for (const Asked& one : asked()) maker.add(one.name, one.kind, one.source, one.parameter);
    maker.need(asked_names());
    Rng rng(500 + seed);
    for (int i = 0; i < 400; ++i) {
      const std::string line = numeric_line(rng);
      maker.read(line);
      const std::vector<Raw> raw = raw_of(maker.example, maker.groups);
      maker.derivation.derive(maker.example, true, maker.names);
      for (const Asked& one : asked()) {
        const std::uint32_t group = maker.groups.number(one.name);
        Features made;
        std::uint32_t absent = 0;
        for (std::size_t r = maker.example.raw_runs(); r < maker.example.runs.size(); ++r) {
          const Run run = maker.example.runs[r];
          for (std::uint32_t k = run.begin; run.group == group && k < run.end; ++k) {
            if (is_absent(maker.example.values[k])) {
              ++absent;
            } else {
              made.emplace_back(print("%08x", maker.example.hashes[k]), maker.example.values[k]);
            }
          }
        }
        if (line.find("|" + one.name) != std::string::npos) {
          CHECK(!made.empty());  // it was given
          continue;
        }
        Features expected = naive.make(one, raw);
        for (auto& [name, value] : expected) name = print("%08x", hash_name(name, maker.groups.seed(group)));
        CHECK_EQ(Maker::show(made), Maker::show(expected));
        // The screen is given the same.
        const std::uint32_t before = static_cast<std::uint32_t>(maker.example.hashes.size());
        const std::size_t room = maker.example.hashes.capacity();
        const Run run = maker.derivation.more(maker.example, group);
        CHECK_EQ(run.end - run.begin, static_cast<std::uint32_t>(expected.size()) + absent);
        CHECK(run.end == run.begin || run.begin == before);
        CHECK_EQ(maker.example.hashes.capacity(), room);  // it was made before
        maker.example.runs.resize(maker.example.runs.size() - (run.end > run.begin ? 1 : 0));
        maker.example.hashes.resize(before);
        maker.example.values.resize(before);
      }
      maker.derivation.observe(maker.example);
      naive.observe(raw, maker.example.label, [&](const Raw& one) {
        return maker.names.name(maker.groups, maker.groups.number(one.group), one.hash);
      });
    }
  }
}

// A feature that stands there often gives often: there is room for all of it.
TEST(there_is_room_for_whatever_the_screen_asks_for) {
  Maker maker(3);
  for (const Asked& one : asked()) maker.add(one.name, one.kind, one.source, one.parameter);
  for (int i = 1; i <= 3; ++i) maker.learn(print("%d |a x:%d |b k:%d |hour h:%d", i, i, i, i));
  std::string line = "1 |a";
  for (int i = 0; i < 500; ++i) line += " x:1.5";
  line += " |hour";
  for (int i = 0; i < 500; ++i) line += " h:1.5";
  maker.read(line + " |missing(a) x y z");
  maker.derivation.derive(maker.example, true, maker.names);
  const std::size_t room = maker.example.hashes.capacity();
  const std::size_t room_for_runs = maker.example.runs.capacity();
  for (const std::string& name : asked_names()) maker.derivation.more(maker.example, maker.groups.number(name));
  CHECK(maker.example.hashes.size() > 5000);
  CHECK_EQ(maker.example.hashes.capacity(), room);
  CHECK_EQ(maker.example.values.capacity(), maker.example.hashes.capacity());
  CHECK_EQ(maker.example.runs.capacity(), room_for_runs);
}

TEST(names_come_from_the_line) {
  Maker maker(2);
  maker.learn("1 |a x:2 color:red 17:3 :4 :5 |a:0.5 y |b x");
  std::set<std::string> names;
  for (const auto& [group, name, stats] : maker.derivation.columns()) {
    names.insert(maker.groups[group].name + "." + *name);
  }
  CHECK((names == std::set<std::string>{"a.x", "a.color=red", "a.17", "a.0", "a.1", "a.y", "b.x"}));
}
