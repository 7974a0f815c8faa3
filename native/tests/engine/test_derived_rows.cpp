// The engine with derived groups: rows of tables, failing examples, late labels.
#include "support/derived_engine.hpp"

using namespace chacha;

namespace {

// Learns a table as columns and as text, in chunks of any length; models start and stop.
void compare(const Table& table, const std::vector<ModelSpec>& crew, std::uint64_t seed) {
  Setting by_text(crew, "plain", 10), by_columns(crew, "plain", 10);
  for (Setting* each : {&by_text, &by_columns}) {
    each->engine.record().wanted = true;
    for (const Table::Cells& cells : table.columns) each->engine.groups().number(cells.group);
  }
  const ColumnBlock block = table.block(by_columns.engine);
  Rng rng(seed);
  std::size_t row = 0;
  while (row < table.rows) {
    const std::size_t end =
        by_columns.engine.advance_columns(block, row, table.rows, rng.below(90) + 1).at;
    for (; row < end; ++row) by_text.learn(table.line(row));
    by_columns.contenders.confirm(by_columns.engine);
    if (rng.chance(3)) {  // models come between
      for (Setting* each : {&by_text, &by_columns}) {
        each->models.push_back(
            each->engine.start(18, Options(), {{"bins(a,16)"}, {"bins(a,16)", "b"}}, -1));
      }
    } else if (rng.chance(3) && by_text.models.size() > crew.size()) {
      for (Setting* each : {&by_text, &by_columns}) {
        each->engine.stop(each->models.back());
        each->models.pop_back();
      }
    }
  }
  by_text.engine.record().clear();  // steps are not recorded, only chunks
  by_columns.engine.record().clear();
  CHECK_EQ(by_columns.seen(), by_text.seen());
}

}  // namespace

TEST(columns_derive_what_text_derives) {
  using Forms = std::vector<Table::Form>;
  const Forms full = {
      {"a", "x", 90, 0, 0}, {"a", "y", 9, 0, 0}, {"b", "k", 6, 0, 0}, {"hour", "h", 23, 0, 0}};
  const Forms holes = {
      {"a", "x", 90, 9, 9}, {"a", "y", 9, 5, 5}, {"b", "k", 6, 3, 0}, {"hour", "h", 23, 20, 0}};
  const Forms letters = {
      {"a", "x", 90, 9, 9}, {"b", "k", 6, 3, 0}, {"bee", "w", 4, 0, 0}, {"a", "y", 9, 9, 0}};
  const Forms given = {{"missing(a)", "x", 1, 3, 3},
                       {"a", "x", 90, 9, 9},
                       {"b", "k", 6, 3, 0},
                       {"own(f)", "p", 9, 2, 0}};
  const Forms filled = {{"missing(a)", "x", 1, 0, 0}, {"a", "x", 90, 0, 0}, {"b", "k", 6, 0, 0}};
  const Forms rare = {{"a", "x", 9, 0, 0}, {"missing(a)", "x", 1, 8, 8}, {"b", "k", 6, 0, 0}};
  const std::vector<std::vector<ModelSpec>> crews = {
      model_specs(),
      {model_specs()[0], {18, {{"a", "b"}}}},  // no model uses what is given
      {model_specs()[0],
       {18, {{"lag(label,3)"}}},
       {18, {{"a", "b"}}}},  // zeros leave nothing to derive
      {{18, {{"ewma(label,0.5)"}, {"ewma(label,0.5)", "b"}}}},
      {{12, {{"missing(a)"}, {"missing(a)", "b"}}}, {18, {{"a", "b"}}}},
      {{18, {{"bins(a,3)", "b"}}}, {18, {}}},
  };
  for (const Forms& forms : {full, holes, letters, given, filled, rare}) {
    for (const bool words : {false, true}) {
      for (std::size_t crew = 0; crew < crews.size(); ++crew) {
        compare(Table(610 + crew, 300, forms, words), crews[crew], crew);
      }
    }
  }
}

// Groups of any letters in any order, repeated and apart, including letters of derived groups;
// columns with few or many cells that are 0 or empty.
TEST(tables_of_any_form_derive_what_text_derives) {
  const char* const groups[] = {"a",  "b",  "bee", "hour", "alpha", "x1",
                                "x2", "x3", "lot", "open", "count", "apple"};
  const char* const names[] = {"x", "y", "k", "h", "w", "p"};
  const std::uint32_t odds[] = {0, 0, 2, 2, 3, 9, 60};
  const std::vector<std::vector<ModelSpec>> crews = {
      model_specs(),
      {{18, {}},
       {18, {{"x1", "x2"}, {"a", "x3"}}},
       {18, {{"bins(a,3)"}, {"log(a)"}, {"onehot(b)"}}}}};
  Rng rng(660);
  for (std::uint64_t i = 0; i < 120; ++i) {
    std::vector<Table::Form> forms;
    const bool sparse = rng.chance(3);
    const std::uint32_t columns = rng.below(9) + 1;
    for (std::uint32_t k = 0; k < columns; ++k) {
      const std::uint32_t zeros = sparse ? 2 : odds[rng.below(7)];
      forms.push_back({groups[rng.below(12)], names[k % 6], rng.below(80) + 2, zeros,
                       rng.chance(3) ? odds[rng.below(7)] : 0});
    }
    if (rng.chance(2)) {
      std::stable_sort(forms.begin(), forms.end(),
                       [](const auto& a, const auto& b) { return std::string(a.group) < b.group; });
    }
    compare(Table(661 + i, 160, forms, rng.chance(3)), crews[i % 2], i);
  }
}

// A word of a refused row is in no example, not even where a cell is empty.
TEST(words_of_refused_rows_are_not_observed) {
  Table table(630, 6, {{"x1", "x", 9, 0, 0}}, true);
  table.columns.back().group = "words";  // a letter that no derived group has
  table.columns.back().words = {0, 0, 2, -1, 0, -1};
  table.labels[2] = NAN;
  Setting by_text(model_specs(), "plain", 10), by_columns(model_specs(), "plain", 10);
  const ColumnBlock block = table.block(by_columns.engine);
  for (std::size_t row = 0; row < table.rows; ++row) {
    const bool refused = row == 2;
    const BlockProgress found = by_columns.engine.advance_columns(block, row, table.rows, 1);
    CHECK(found.status == (refused ? Status::kBad : Status::kFine));
    if (!refused) by_text.learn(table.line(row));
    by_columns.contenders.confirm(by_columns.engine);
    CHECK_EQ(by_columns.engine.observed().raw_features(), by_text.engine.observed().raw_features());
  }
  CHECK_EQ(by_columns.engine.observed().raw_features(), std::uint64_t{2});
}

TEST(rows_and_lines_may_alternate) {
  const Table table(620, 400, {{"a", "x", 90, 0, 0}, {"b", "k", 6, 0, 0}, {"hour", "h", 23, 0, 0}},
                    false);
  Setting mixed(model_specs(), "plain", 10), text(model_specs(), "plain", 10);
  const ColumnBlock block = table.block(mixed.engine);
  Rng rng(621);
  for (std::size_t row = 0; row < table.rows;) {
    const std::size_t end =
        mixed.engine.advance_columns(block, row, table.rows, rng.below(9) + 1).at;
    mixed.contenders.confirm(mixed.engine);
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
  const std::vector<ModelSpec> some = {{18, {{"a", "b", "hour"}, {"lag(a,2)"}}}, model_specs()[3]};
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
  Setting late(model_specs()), usual(model_specs());
  Rng rng(623);
  for (int i = 0; i < 80; ++i) {
    const std::string line = numeric_line(rng);
    usual.learn(line);
    late.predict(line.substr(line.find('|')));
    const Forecast forecast{{{late.models[0], late.engine.raw(late.models[0])}}, 0.5, 0.0};
    CHECK(late.engine.parse(line) && late.engine.take_label());
    if (late.engine.step(&forecast) == Status::kDecide) late.contenders.confirm(late.engine);
  }
  for (std::size_t k = 0; k < model_specs().size(); ++k) CHECK_EQ(late.seen(k), usual.seen(k));
}

TEST(learning_without_statistics_derives_too) {
  Setting plain(model_specs()), usual(model_specs());
  Rng rng(624);
  for (int i = 0; i < 80; ++i) {
    const std::string line = numeric_line(rng);
    usual.learn(line);
    CHECK(plain.engine.parse(line));
    plain.engine.learn();
    for (std::size_t k = 0; k < model_specs().size(); ++k) {
      CHECK(check::same(plain.engine.raw(plain.models[k]), usual.engine.raw(usual.models[k])));
    }
  }
  for (std::size_t k = 0; k < model_specs().size(); ++k) CHECK_EQ(plain.seen(k), usual.seen(k));
}
