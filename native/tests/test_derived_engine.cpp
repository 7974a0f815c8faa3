// The engine with derived groups: bit for bit what plain groups give, whoever else is there.
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>

#include "check.hpp"
#include "deriving.hpp"

using namespace chacha;

namespace {

constexpr std::int64_t kNever = std::int64_t{1} << 62;
using Products = std::vector<std::vector<std::string>>;

struct Wanted {
  int bits;
  Products products;
  float rate = 0.5F;
  float power = 0.5F;
  bool constant = true;

  Options options() const {
    Options made;
    made.learning_rate = rate;
    made.power_t = power;
    made.constant = constant;
    return made;
  }
};

// Models of many kinds: derived groups alone, multiplied with raw ones, with each other, squared.
const std::vector<Wanted>& wanted() {
  static const std::vector<Wanted> all = {
      {18, {}},
      {18, {{"bins(a,3)"}}},
      {18, {{"bins(a,16)"}, {"bins(a,16)", "b"}, {"a", "b"}}, 0.2F},
      {18, {{"bins(a,3)"}, {"onehot(b)"}, {"bins(a,3)", "onehot(b)"}, {"bins(a,3)", "bins(a,3)"}}, 0.5F, 0.4F},
      {18, {{"log(a)"}, {"lag(label,3)"}, {"ewma(b,0.25)"}, {"log(a)", "lag(label,3)", "hour"}}, 0.5F, 0.5F, false},
      {18, {{"cyclic(hour,24)"}, {"cyclic(hour,24)", "alpha"}, {"missing(a)"}, {"own(f)"}, {"own(f)", "own(f)"}}},
      {9, {{"bins(hour,40)"}, {"onehot(bee)"}, {"lag(a,2)"}, {"ewma(label,0.5)"}, {"lag(a,2)", "bins(hour,40)"}}},
      {9, {}},
      {5, {{"bins(a,16)"}, {"log(a)"}, {"bins(a,16)", "log(a)"}, {"b", "bee"}}, 0.3F},
      {31, {{"bins(a,16)"}, {"onehot(b)"}, {"missing(a)"}, {"bins(a,16)", "missing(a)"}}},
  };
  return all;
}

struct Setting {
  Engine engine;
  std::vector<std::uint32_t> models;

  explicit Setting(const std::vector<Wanted>& wanted, const char* kernel = "plain", std::size_t first = 12)
      : engine(18, kernel_named(kernel)) {
    if (first > 0) engine.turn_on_derivation(first);
    if (first > 0) know();
    for (const Wanted& one : wanted) models.push_back(engine.start(one.bits, one.options(), one.products));
    line_up();
  }
  void know() {
    for (const Asked& one : asked()) engine.add_derived(one.name, one.kind, one.source, one.parameter);
  }
  void line_up() {
    std::vector<Contender> all;
    for (const std::uint32_t model : models) all.push_back({model, model != models[0], kNever});
    engine.set_contenders(all, models[0], static_cast<std::int64_t>(all.size()) - 1, false);
  }
  void step() {
    CHECK(engine.take_label());
    engine.step();
    engine.decided();
  }
  void learn(const std::string& line) {
    CHECK(engine.parse(line));
    step();
  }
  void predict(const std::string& line) {
    CHECK(engine.parse(line));
    engine.predict();
  }
  std::string seen(std::size_t i) { return picture(engine.dump(models[i])) + picture(engine.state(models[i])); }
  std::string seen() { return picture(engine, models); }
};

// A model without derived groups, on examples that have them as groups like any other.
struct Plain {
  Setting setting;
  std::vector<std::string> own;  // the derived groups of the model, by name

  Plain(const Wanted& wanted, const char* kernel) : setting({without(wanted)}, kernel, 0) {
    for (const auto& product : wanted.products) {
      if (product.size() == 1) own.push_back(product[0]);
    }
    std::sort(own.begin(), own.end());
  }
  static Wanted without(Wanted wanted) {
    Products kept;
    for (const auto& product : wanted.products) {
      if (product.size() > 1) kept.push_back(product);
    }
    wanted.products = kept;
    return wanted;
  }
  // The same example as the other engine has at hand.
  void learn(const std::string& line, Engine& other) {
    Groups& groups = setting.engine.groups();
    Example read;
    CHECK(parse_line(line, groups, read));
    Example& example = setting.engine.example();
    example.clear();
    example.labelled = true;
    example.label = read.label;
    example.weight = read.weight;
    for (const Run& run : read.runs) {
      if (other.derivation().knows(other.groups().number(groups[run.group].name))) continue;
      example.open(run.group, groups.letter(run.group));
      for (std::uint32_t i = run.begin; i < run.end; ++i) example.add(read.hashes[i], read.values[i]);
      example.close();
    }
    const auto derived = other.derived_features(own);
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (derived[k].empty()) continue;
      const std::uint32_t group = groups.number(own[k]);
      example.open(group, groups.letter(group));
      for (const auto& [name, value] : derived[k]) example.add(hash_name(name, groups.seed(group)), value);
      example.close();
    }
    setting.engine.settle(TextNames());
    setting.step();
  }
};

const char* const kKernels[] = {"plain", "avx2", "avx512"};

// A table of numbers and words, in memory and as text. Whole numbers are read exactly; words are
// numbers too: a table knows no names of words.
struct Table {
  struct Cells {
    std::string group, name;
    std::vector<float> numbers;  // NaN: an empty cell
    std::vector<std::int32_t> words;
  };
  std::vector<float> labels;
  std::vector<Cells> columns;
  std::size_t rows;

  // Of each column: group.name, how many values, one of how many is 0 or empty (0: none).
  struct Form {
    const char* group;
    const char* name;
    std::uint32_t values;
    std::uint32_t zeros, empty;
  };
  Table(std::uint64_t seed, std::size_t rows_, const std::vector<Form>& forms, bool words) : rows(rows_) {
    Rng rng(seed);
    for (const Form& form : forms) columns.push_back({form.group, form.name, {}, {}});
    if (words) columns.push_back({"look", "", {}, {}});
    for (std::size_t i = 0; i < rows; ++i) {
      float y = static_cast<float>(rng.below(3));
      for (std::size_t k = 0; k < forms.size(); ++k) {
        float value = static_cast<float>(rng.below(forms[k].values) + 1);
        if (forms[k].zeros > 0 && rng.chance(forms[k].zeros)) value = 0.0F;
        if (forms[k].empty > 0 && rng.chance(forms[k].empty)) value = NAN;
        columns[k].numbers.push_back(value);
        y += value > 4.0F ? 1.0F : 0.0F;
      }
      if (words) columns.back().words.push_back(static_cast<std::int32_t>(rng.below(4)) - 1);
      labels.push_back(rng.chance(4) ? 0.0F : y);
    }
  }
  ColumnBlock block(Engine& engine) const {
    ColumnBlock made;
    for (const Cells& cells : columns) {
      const std::uint32_t group = engine.groups().number(cells.group);
      if (made.parts.empty() || made.parts.back().group != group) made.parts.push_back({group, {}});
      Column column;
      if (cells.words.empty()) {
        column.name = cells.name;
        column.hash = hash_name(cells.name, engine.groups().seed(group));
        column.numbers = cells.numbers.data();
      } else {
        column.cell_of = cells.words.data();
        column.starts = {0, 1, 2, 3};
        for (const std::uint32_t word : {11U, 12U, 13U}) column.hashes.push_back(word + engine.groups().seed(group));
        column.values.assign(3, 1.0F);
      }
      made.parts.back().columns.push_back(column);
    }
    made.rows = rows;
    made.labels = labels.data();
    return made;
  }
  std::string line(std::size_t row) const {
    static const char* const words[] = {"11", "12", "13"};
    std::string made = print("%g", static_cast<double>(labels[row]));
    std::string group;
    for (const Cells& cells : columns) {
      if (cells.group != group) made += " |" + cells.group;
      group = cells.group;
      if (!cells.words.empty()) {
        if (cells.words[row] >= 0) made += std::string(" ") + words[cells.words[row]];
      } else if (!std::isnan(cells.numbers[row])) {
        made += " " + cells.name + print(":%g", static_cast<double>(cells.numbers[row]));
      }
    }
    return made;
  }
};

}  // namespace

TEST(a_derived_group_is_like_a_plain_one) {
  for (const char* kernel : kKernels) {
    if (kernel_named(kernel) == nullptr) continue;
    Setting all(wanted(), kernel);
    std::vector<std::unique_ptr<Plain>> plain;
    for (const Wanted& one : wanted()) plain.push_back(std::make_unique<Plain>(one, kernel));
    Rng rng(600);
    for (int i = 0; i < 500; ++i) {
      const std::string line = numeric_line(rng);
      CHECK(all.engine.parse(line));
      for (const auto& one : plain) one->learn(line, all.engine);
      all.step();
      for (std::size_t k = 0; k < plain.size(); ++k) {
        const double alone = plain[k]->setting.engine.raw(plain[k]->setting.models[0]);
        CHECK(check::same(all.engine.raw(all.models[k]), alone));
      }
    }
    for (std::size_t k = 0; k < plain.size(); ++k) CHECK_EQ(all.seen(k), plain[k]->setting.seen(0));
  }
}

TEST(each_model_learns_as_if_it_were_alone) {
  Setting all(wanted(), "plain");
  std::vector<std::unique_ptr<Setting>> alone;
  for (const Wanted& one : wanted()) alone.push_back(std::make_unique<Setting>(std::vector<Wanted>{one}, "plain"));
  Rng rng(601), other(602);
  for (int i = 0; i < 400; ++i) {
    const std::string line = numeric_line(rng), asked_for = numeric_line(other, false);
    all.learn(line);
    for (const auto& one : alone) one->learn(line);
    all.predict(asked_for);
    for (std::size_t k = 0; k < alone.size(); ++k) {
      alone[k]->predict(asked_for);
      CHECK(check::same(all.engine.raw(all.models[k]), alone[k]->engine.raw(alone[k]->models[0])));
    }
  }
  for (std::size_t k = 0; k < alone.size(); ++k) {
    CHECK_EQ(all.seen(k), alone[k]->seen(0));
    CHECK_EQ(picture(all.engine.derivation(), all.engine.groups()),
             picture(alone[k]->engine.derivation(), alone[k]->engine.groups()));
    CHECK_EQ(all.engine.observed().raw_features(), alone[k]->engine.observed().raw_features());
  }
}

TEST(predictions_between_leave_no_trace) {
  Setting quiet(wanted()), asking(wanted());
  Rng rng(603), other(604);
  for (int i = 0; i < 300; ++i) {
    const std::string line = numeric_line(rng);
    quiet.learn(line);
    asking.predict(numeric_line(other, false) + print(" |a new%d:3 |fresh%d x:1 |missing(q%d) z", i, i, i));
    asking.predict(line.substr(line.find('|')));
    asking.learn(line);
    asking.engine.derived_features(asked_names());
    CHECK_EQ(picture(asking.engine.derivation(), asking.engine.groups()),
             picture(quiet.engine.derivation(), quiet.engine.groups()));
  }
  CHECK_EQ(asking.seen(), quiet.seen());
}

// Derived groups are no groups of the stream: nobody waits for them, and nothing is counted.
TEST(derived_groups_are_not_observed) {
  Setting setting(wanted());
  Rng rng(605);
  for (int i = 0; i < 60; ++i) setting.learn(numeric_line(rng));
  setting.engine.wait_for(Wait::kNewGroup);
  CHECK(setting.engine.parse("1 |a x:3 y:2 |b k:2 |hour h:3 |missing(a) x"));
  setting.engine.predict();
  CHECK(setting.engine.example().has_derived());
  CHECK(setting.engine.take_label());
  CHECK(setting.engine.step() == Status::kFine);  // of the same example, which has derived groups now
  for (const std::string& name : asked_names()) {
    CHECK(!setting.engine.observed().has(setting.engine.groups().number(name)));
  }
  CHECK(setting.engine.parse("1 |fresh x"));
  setting.engine.predict();
  CHECK(setting.engine.take_label());
  CHECK(setting.engine.step() == Status::kBegin);
}

TEST(models_come_and_go) {
  Setting all({wanted()[0]});
  std::vector<std::unique_ptr<Plain>> plain(wanted().size());
  std::vector<std::uint32_t> numbers(wanted().size(), 0);
  Rng rng(606);
  for (int i = 0; i < 900; ++i) {
    const auto k = 1 + rng.below(static_cast<std::uint32_t>(wanted().size()) - 1);
    if (rng.chance(12) && plain[k] == nullptr) {
      numbers[k] = all.engine.start(wanted()[k].bits, wanted()[k].options(), wanted()[k].products);
      plain[k] = std::make_unique<Plain>(wanted()[k], "plain");
    } else if (rng.chance(25) && plain[k] != nullptr) {
      Setting& other = plain[k]->setting;
      CHECK_EQ(picture(all.engine.dump(numbers[k])), picture(other.engine.dump(other.models[0])));
      all.engine.stop(numbers[k]);
      plain[k] = nullptr;
    }
    const std::string line = numeric_line(rng);
    CHECK(all.engine.parse(line));
    for (const auto& one : plain) {
      if (one != nullptr) one->learn(line, all.engine);
    }
    all.step();
    for (std::size_t m = 0; m < plain.size(); ++m) {
      if (plain[m] == nullptr) continue;
      CHECK(check::same(all.engine.raw(numbers[m]), plain[m]->setting.engine.raw(plain[m]->setting.models[0])));
    }
  }
}

TEST(nothing_is_made_for_nobody) {
  Setting setting({wanted()[0], wanted()[1], {18, {{"bins(a,3)"}, {"bins(a,3)", "b"}}}}, "plain", 4);
  Rng rng(607);
  for (int i = 0; i < 20; ++i) setting.learn(numeric_line(rng));
  const std::string line = "1 |a x:3 y:2 |b k:2";
  const auto derived = [&] {
    setting.predict(line);
    return setting.engine.example().has_derived();
  };
  CHECK(derived());
  setting.engine.stop(setting.models[1]);
  CHECK(derived());
  setting.engine.stop(setting.models[2]);
  CHECK(!derived());
  setting.models.resize(1);
  setting.line_up();
  for (int i = 0; i < 20; ++i) setting.learn(numeric_line(rng));
  CHECK(!derived());
  setting.engine.start(18, Options(), {{"bins(a,3)", "b"}});  // in a product alone
  CHECK(derived());
}

TEST(the_order_of_getting_ready_does_not_matter) {
  const std::vector<Wanted> some = {wanted()[2], wanted()[3]};
  Setting usual(some, "plain", 6);
  Engine late(18, kernel_named("plain"));
  std::vector<std::uint32_t> models;
  CHECK_THROWS(late.start(18, Options(), {{"bins(a,16)"}}), std::invalid_argument);  // nobody knows it
  // A product may name what is derived later, and all may be there before it is turned on.
  Products products = {{"bins(a,16)", "b"}};
  const std::uint32_t early = late.start(18, some[0].options(), products);
  for (const Asked& one : asked()) late.add_derived(one.name, one.kind, one.source, one.parameter);
  for (const Wanted& one : some) models.push_back(late.start(one.bits, one.options(), one.products));
  late.turn_on_derivation(6);
  CHECK_THROWS(late.turn_on_derivation(0), std::invalid_argument);
  late.set_contenders({{models[0], false, kNever}, {models[1], true, kNever}}, models[0], 1, false);
  usual.models.push_back(usual.engine.start(18, some[0].options(), products));
  Rng rng(608);
  for (int i = 0; i < 100; ++i) {
    const std::string line = numeric_line(rng);
    usual.learn(line);
    CHECK(late.parse(line) && late.take_label());
    late.step();
    late.decided();
  }
  models.push_back(early);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK_EQ(usual.seen(k), picture(late.dump(models[k])) + picture(late.state(models[k])));
  }
}

TEST(a_group_may_be_derived_after_it_was_multiplied) {
  Engine engine(18, kernel_named("plain"));
  engine.turn_on_derivation(3);
  engine.start(18, Options(), {{"lag(a,1)", "b"}});
  const auto learn = [&] {
    CHECK(engine.parse("1 |a x:2 |b y"));
    engine.learn();
    return engine.example().has_derived();
  };
  CHECK(!learn());
  engine.add_derived("lag(a,1)", Kind::kLag, "a", 1);
  CHECK(!learn());
  CHECK(learn());
}

TEST(a_copy_is_damped_in_what_is_new_to_it) {
  for (const char* kernel : kKernels) {
    if (kernel_named(kernel) == nullptr) continue;
    Setting setting({{18, {{"log(a)"}}}}, kernel, 4);
    for (int i = 1; i <= 10; ++i) setting.learn(print("%d |a x:%d |b k:%d", i % 4, i, i % 3 + 1));
    const int from = static_cast<int>(setting.models[0]);
    const Products more = {{"log(a)"}, {"bins(a,3)"}, {"bins(a,3)", "b"}};
    const std::uint32_t free = setting.engine.start(18, Options(), more, from, 0.0F);
    const std::uint32_t damped = setting.engine.start(18, Options(), more, from, 0.5F);
    const std::uint32_t settled = setting.engine.start(18, Options(), more, from, 0.5F);
    setting.engine.settle(settled);
    CHECK_EQ(picture(setting.engine.dump(damped)), picture(setting.engine.dump(free)));
    using Cells = std::map<std::uint32_t, std::array<float, 3>>;
    const auto cells = [&](std::uint32_t model) {
      const Dump dump = setting.engine.dump(model);
      Cells found;
      for (std::size_t i = 0; i < dump.index.size(); ++i) {
        if (dump.norm[i] > 0) found[dump.index[i]] = {dump.w[i], dump.adaptive[i], dump.norm[i]};
      }
      return found;
    };
    const Cells before = cells(free);
    const float sum = before.at(kConstant & 0x3ffffU)[1];
    setting.learn("3 |a x:2.5 |b k:2");  // half of 1, half of 4: x@1:0.5 x@4:0.5 by three knots of 1 to 4
    CHECK_EQ(picture(setting.engine.dump(settled)), picture(setting.engine.dump(free)));
    int fresh = 0;
    const Cells slow = cells(damped), quick = cells(free);
    for (const auto& [index, cell] : slow) {
      if (before.count(index) > 0) {
        CHECK_EQ(cell[1], quick.at(index)[1]);
        continue;
      }
      ++fresh;
      CHECK_EQ(cell[1], 0.5F * sum * cell[2] * cell[2] + quick.at(index)[1]);
      CHECK(std::fabs(cell[0]) < std::fabs(quick.at(index)[0]));
    }
    CHECK_EQ(fresh, 4);  // two knots, and both with k
  }
}

TEST(damped_copies_are_not_changed_by_company) {
  for (const char* kernel : kKernels) {
    if (kernel_named(kernel) == nullptr) continue;
    Setting crowd({wanted()[1]}, kernel), alone({wanted()[1]});
    Rng rng(609);
    for (int i = 0; i < 60; ++i) {
      const std::string line = numeric_line(rng);
      crowd.learn(line);
      alone.learn(line);
    }
    const Products more = {{"bins(a,3)"}, {"bins(a,16)"}, {"lag(label,3)"}, {"bins(a,16)", "b"}, {"own(f)"}};
    for (Setting* each : {&crowd, &alone}) each->models.push_back(each->engine.start(18, Options(), more, 0, 0.3F));
    std::vector<std::uint32_t> guests;
    for (int i = 0; i < 200; ++i) {
      if (i % 8 == 1) {
        guests.push_back(crowd.engine.start(18, Options(), {{"bins(a,16)"}, {"onehot(b)"}, {"bins(a,16)", "b"}},
                                            i % 3 == 0 ? 0 : -1, i % 3 == 0 ? 2.0F : 0.0F));
      }
      if (i % 8 == 5 && guests.size() > 6) {
        crowd.engine.stop(guests.front());
        guests.erase(guests.begin());
      }
      if (i % 20 == 9) crowd.engine.settle(guests.back());
      const std::string line = numeric_line(rng);
      crowd.learn(line);
      alone.learn(line);
      CHECK(check::same(crowd.engine.raw(crowd.models[1]), alone.engine.raw(alone.models[1])));
    }
    CHECK_EQ(crowd.seen(1), alone.seen(1));
  }
}

TEST(columns_derive_what_text_derives) {
  using Forms = std::vector<Table::Form>;
  const Forms full = {{"a", "x", 90, 0, 0}, {"a", "y", 9, 0, 0}, {"b", "k", 6, 0, 0}, {"hour", "h", 23, 0, 0}};
  const Forms holes = {{"a", "x", 90, 9, 9}, {"a", "y", 9, 5, 5}, {"b", "k", 6, 3, 0}, {"hour", "h", 23, 20, 0}};
  const Forms letters = {{"a", "x", 90, 9, 9}, {"b", "k", 6, 3, 0}, {"bee", "w", 4, 0, 0}, {"a", "y", 9, 9, 0}};
  const Forms given = {
      {"missing(a)", "x", 1, 3, 3}, {"a", "x", 90, 9, 9}, {"b", "k", 6, 3, 0}, {"own(f)", "p", 9, 2, 0}};
  const Forms always = {{"missing(a)", "x", 1, 0, 0}, {"a", "x", 90, 0, 0}, {"b", "k", 6, 0, 0}};
  const Forms rare = {{"a", "x", 9, 0, 0}, {"missing(a)", "x", 1, 8, 8}, {"b", "k", 6, 0, 0}};
  const std::vector<std::vector<Wanted>> crews = {
      wanted(),
      {wanted()[0], {18, {{"a", "b"}}}},                              // nobody wants what is given
      {wanted()[0], {18, {{"lag(label,3)"}}}, {18, {{"a", "b"}}}},    // zeros leave nothing to derive
      {{18, {{"ewma(label,0.5)"}, {"ewma(label,0.5)", "b"}}}},
      {{12, {{"missing(a)"}, {"missing(a)", "b"}}}, {18, {{"a", "b"}}}},
      {{18, {{"bins(a,3)", "b"}}}, {18, {}}},
  };
  for (const Forms& forms : {full, holes, letters, given, always, rare}) {
    for (const bool words : {false, true}) {
      for (std::size_t crew = 0; crew < crews.size(); ++crew) {
        const Table table(610 + crew, 300, forms, words);
        Setting by_text(crews[crew], "plain", 10), by_columns(crews[crew], "plain", 10);
        for (Setting* each : {&by_text, &by_columns}) {
          each->engine.record().wanted = true;
          for (const Table::Cells& cells : table.columns) each->engine.groups().number(cells.group);
        }
        const ColumnBlock block = table.block(by_columns.engine);
        Rng rng(crew);
        std::size_t row = 0;
        while (row < table.rows) {
          const std::size_t end = by_columns.engine.advance_columns(block, row, table.rows, rng.below(90) + 1).at;
          for (; row < end; ++row) by_text.learn(table.line(row));
          by_columns.engine.decided();
          if (rng.chance(3)) {  // models come between
            for (Setting* each : {&by_text, &by_columns}) {
              each->models.push_back(each->engine.start(18, Options(), {{"bins(a,16)"}, {"bins(a,16)", "b"}}, -1));
            }
          } else if (rng.chance(3) && by_text.models.size() > crews[crew].size()) {
            for (Setting* each : {&by_text, &by_columns}) {
              each->engine.stop(each->models.back());
              each->models.pop_back();
            }
          }
        }
        by_text.engine.record().clear();  // steps are not recorded, only stretches
        by_columns.engine.record().clear();
        CHECK_EQ(by_columns.seen(), by_text.seen());
      }
    }
  }
}

TEST(rows_and_lines_may_alternate) {
  const Table table(620, 400, {{"a", "x", 90, 0, 0}, {"b", "k", 6, 0, 0}, {"hour", "h", 23, 0, 0}}, false);
  Setting mixed(wanted(), "plain", 10), text(wanted(), "plain", 10);
  const ColumnBlock block = table.block(mixed.engine);
  Rng rng(621);
  for (std::size_t row = 0; row < table.rows;) {
    const std::size_t end = mixed.engine.advance_columns(block, row, table.rows, rng.below(9) + 1).at;
    mixed.engine.decided();
    for (; row < end; ++row) text.learn(table.line(row));
    if (rng.chance(2)) mixed.predict("|a x:5 |missing(a) x |b k:1");
    if (!rng.chance(3)) continue;
    const std::string line = numeric_line(rng);
    mixed.learn(line);
    text.learn(line);
  }
  CHECK_EQ(mixed.seen(), text.seen());
}

TEST(an_example_that_is_too_large_leaves_no_column_behind) {
  const std::vector<Wanted> some = {{18, {{"a", "b", "hour"}, {"lag(a,2)"}}}, wanted()[3]};
  Setting setting(some), untouched(some);
  std::string large = "1";
  for (const char* group : {"a", "b", "hour"}) {
    large += std::string(" |") + group;
    for (int i = 0; i < 270; ++i) large += print(" n%d:%d", i, i + 1);
  }
  Rng rng(622);
  for (int i = 0; i < 40; ++i) {
    if (i % 10 == 3) {
      CHECK(setting.engine.parse(large) && setting.engine.take_label());
      CHECK_THROWS(setting.engine.step(), std::length_error);
    }
    const std::string line = numeric_line(rng);
    setting.learn(line);
    untouched.learn(line);
    CHECK_EQ(setting.seen(), untouched.seen());
  }
}

TEST(a_late_label_derives_when_it_comes) {
  Setting late(wanted()), usual(wanted());
  Rng rng(623);
  for (int i = 0; i < 80; ++i) {
    const std::string line = numeric_line(rng);
    usual.learn(line);
    late.predict(line.substr(line.find('|')));
    const Forecast forecast{{{late.models[0], late.engine.raw(late.models[0])}}, 0.5, 0.0};
    CHECK(late.engine.parse(line) && late.engine.take_label());
    late.engine.step(&forecast);
    late.engine.decided();
  }
  for (std::size_t k = 0; k < wanted().size(); ++k) CHECK_EQ(late.seen(k), usual.seen(k));
}

TEST(learning_without_statistics_derives_too) {
  Setting plain(wanted()), usual(wanted());
  Rng rng(624);
  for (int i = 0; i < 80; ++i) {
    const std::string line = numeric_line(rng);
    usual.learn(line);
    CHECK(plain.engine.parse(line));
    plain.engine.learn();
    for (std::size_t k = 0; k < wanted().size(); ++k) {
      CHECK(check::same(plain.engine.raw(plain.models[k]), usual.engine.raw(usual.models[k])));
    }
  }
  for (std::size_t k = 0; k < wanted().size(); ++k) CHECK_EQ(plain.seen(k), usual.seen(k));
}
