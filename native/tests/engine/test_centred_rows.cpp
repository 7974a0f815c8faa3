// Rows of a table whose numbers are centred: read in double precision, and the same as dicts.
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "engine/row_reader.hpp"
#include "support/challengers.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Columns of a block in memory.
struct Columns {
  std::vector<double> labels;
  std::vector<float> weights;
  std::vector<double> doubles;
  std::vector<std::int64_t> longs;
  std::vector<std::int32_t> words, dates;
  std::vector<double> date_numbers;  // by date, of two parts each
};

constexpr std::uint32_t kDouble = 11, kLong = 12, kNone = 13, kWord = 14, kPart = 15, kNoDate = 17;

// A reader of a block, with its groups.
struct Reading {
  Groups groups;
  Derivation derivation{groups};
  Centring centring;
  RowReader rows{groups, derivation, centring};
  ColumnBlock block;
  Example example;
  std::vector<std::uint32_t> empty;

  explicit Reading(const Columns& from) {
    Column number, id, word, date;
    number.name = "number";
    number.hash = kDouble;
    number.doubles = from.doubles.data();
    number.missing_hashes = {kNone};
    number.missing_values = {1.0F};
    id.name = "id";
    id.hash = kLong;
    id.longs = from.longs.data();
    word.cell_of = from.words.data();
    word.starts = {0, 1};
    word.hashes = {kWord};
    word.values = {1.0F};
    date.name = "date";
    date.hash = kNoDate;
    date.cell_of = from.dates.data();
    date.numeric_cells = true;
    date.cell_numbers = from.date_numbers;
    date.starts = {0};
    for (std::uint32_t i = 0; i < from.date_numbers.size(); ++i) {
      date.hashes.push_back(kPart + i % 2);
      date.values.push_back(static_cast<float>(from.date_numbers[i]));
      if (i % 2 == 1) date.starts.push_back(i + 1);
    }
    block.parts = {{groups.number("size"), {number, id}}, {groups.number("look"), {word, date}}};
    block.rows = from.labels.size();
    block.labels = from.labels.data();
    if (!from.weights.empty()) block.weights = from.weights.data();
    centring.turn_on();
  }
  // Every row is one of the first.
  void show_all() {
    rows.open(block);
    for (std::size_t row = 0; row < block.rows; ++row) {
      CHECK(rows.read_all(row, example));
      centring.prepare(example);
      centring.observe(example);
    }
    centring.fit();
    centring.finish();
    rows.close();
  }
  bool read(std::size_t row) { return rows.read(row, block.rows, example, empty); }
  std::string seen() const {
    std::string all = print("%a %g", example.target, static_cast<double>(example.weight));
    for (const Run& run : example.runs) {
      std::string group = " |" + groups[run.group].name;
      for (std::uint32_t i = run.begin; i < run.end; ++i) {
        if (!is_there(example.values[i])) continue;  // it may keep a place
        all += group;
        group.clear();
        all += print(" %u:%.9g(%.17g)", example.hashes[i], static_cast<double>(example.values[i]),
                     example.read[i]);
      }
    }
    return all;
  }
};

Columns three_rows() {
  return {{1.0, 2.0, 3.0},
          {1.0F, 0.5F, 2.0F},
          {0.1, kNan, 0.0},
          {(std::int64_t{1} << 52) + 1, 0, -3},
          {0, -1, 0},
          {1, 0, -1},
          {1700000001.0, 0.0, 3.0, 0.25}};
}

// A table of two groups of numbers, as columns and as dicts.
struct Table {
  std::size_t rows;
  std::vector<double> labels;
  std::vector<std::string> names{"t", "half", "mostly", "same", "p", "q"};  // the last two in |b
  std::vector<std::vector<double>> numbers;
  std::vector<std::int32_t> words;

  Table(std::uint64_t seed, std::size_t n) : rows(n), numbers(6) {
    Rng rng(seed);
    for (std::size_t i = 0; i < n; ++i) {
      const double x = rng.real();
      const bool word = rng.chance(2);
      numbers[0].push_back(1.7e9 + std::floor(1000.0 * x));
      numbers[1].push_back(rng.chance(2) ? kNan : rng.real() * 5.0);
      numbers[2].push_back(rng.chance(5) ? rng.real() : 0.0);
      numbers[3].push_back(i < 40 ? 3.0 : static_cast<double>(rng.below(3)));
      numbers[4].push_back(1e-6 * rng.real());
      numbers[5].push_back(static_cast<double>(rng.below(100)) - 50.0);
      words.push_back(word ? 0 : -1);
      labels.push_back(30.0 * x + 0.1 * numbers[5].back() + (word ? 2.0 : 0.0));
    }
  }
  std::string group(std::size_t column) const { return column < 4 ? "a" : "b"; }
  std::uint32_t hash(Engine& engine, std::size_t column) const {
    return hash_name(names[column], engine.groups().seed(engine.groups().number(group(column))));
  }
  ColumnBlock block(Engine& engine) const {
    ColumnBlock block;
    block.parts = {{engine.groups().number("a"), {}}, {engine.groups().number("b"), {}}};
    for (std::size_t k = 0; k < names.size(); ++k) {
      Column column;
      column.name = names[k];
      column.hash = hash(engine, k);
      column.doubles = numbers[k].data();
      block.parts[k < 4 ? 0 : 1].columns.push_back(column);
    }
    Column word;
    word.cell_of = words.data();
    word.starts = {0, 1};
    word.hashes = {hash_name("w", engine.groups().seed(engine.groups().number("b")))};
    word.values = {1.0F};
    block.parts[1].columns.push_back(word);
    block.rows = rows;
    block.labels = labels.data();
    return block;
  }
  // Parses a row as if it was a dict.
  bool parse(Engine& engine, std::size_t row, const Names& block) const {
    std::string& line = lines_[row];
    line = print("%.17g", labels[row]);
    std::vector<NumberCell> cells;
    for (std::size_t k = 0; k < names.size(); ++k) {
      if (k == 0 || k == 4) line += " |" + group(k);
      const double number = numbers[k][row];
      const std::uint32_t at = static_cast<std::uint32_t>(k < 4 ? k : k - 4);
      cells.push_back({engine.groups().number(group(k)), at, hash(engine, k), number});
      if (is_there(static_cast<float>(number))) {
        line += print(" %s:%.17g", names[k].c_str(), number);
      }
    }
    if (words[row] == 0) line += " w";
    return engine.parse_row(line, cells, block);
  }

 private:
  mutable std::map<std::size_t, std::string> lines_;
};

std::vector<std::uint32_t> set_up(Engine& engine) {
  Options options;
  options.learning_rate = 0.2F;
  const std::vector<std::uint32_t> models = {engine.start(18, options, {}),
                                             engine.start(18, options, {{"a", "b"}}),
                                             engine.start(10, options, {{"b", "b"}})};
  engine.set_contest_rules(ServedLoss(), {}, Blending(), 0.25, 0.5);
  engine.set_contest(contest_of(models[0], {challenger(models[1]), challenger(models[2])}));
  const std::uint32_t a = engine.groups().number("a");
  engine.screen().set({{a, a}}, {64});
  engine.scale_labels(20);
  engine.centring().turn_on();
  engine.record().wanted = true;
  return models;
}

// The state and the predictions, without what only a record has.
std::string end_of(Engine& engine, const std::vector<std::uint32_t>& models) {
  engine.record().clear();
  return picture(engine, models);
}

}  // namespace

TEST(a_row_is_read_with_all_its_cells_in_double_precision) {
  const Columns columns = three_rows();
  Reading reading(columns);
  reading.rows.open(reading.block);
  Example& example = reading.example;
  CHECK(reading.rows.read_all(0, example));
  CHECK(example.target == 1.0 && example.weight == 1.0F && example.labelled);
  CHECK_EQ(example.runs.size(), std::size_t{2});
  CHECK((std::vector<std::uint32_t>(example.hashes.begin(), example.hashes.end()) ==
         std::vector<std::uint32_t>{kDouble, kLong, kWord, kPart, kPart + 1}));
  CHECK_EQ(example.read.size(), std::size_t{5});
  CHECK_EQ(example.read[0], 0.1);
  CHECK_EQ(example.values[0], 0.1F);
  CHECK_EQ(example.read[1], 4503599627370497.0);
  CHECK(is_words(example.read[2]));
  CHECK_EQ(example.values[2], 1.0F);
  CHECK_EQ(example.read[3], 3.0);
  CHECK_EQ(example.read[4], 0.25);
}

TEST(cells_that_are_0_or_empty_are_read_too) {
  const Columns columns = three_rows();
  Reading reading(columns);
  reading.rows.open(reading.block);
  Example& example = reading.example;
  CHECK(reading.rows.read_all(1, example));
  CHECK((std::vector<std::uint32_t>(example.hashes.begin(), example.hashes.end()) ==
         std::vector<std::uint32_t>{kDouble, kNone, kLong, kPart, kPart + 1}));
  CHECK(std::isnan(example.read[0]) && is_absent(example.values[0]));
  CHECK(is_words(example.read[1]));
  CHECK_EQ(example.read[2], 0.0);
  CHECK_EQ(example.read[3], 1700000001.0);
  CHECK_EQ(example.weight, 0.5F);
  CHECK(reading.rows.read_all(2, example));
  CHECK_EQ(example.read[0], 0.0);
  CHECK_EQ(example.read[1], -3.0);
  CHECK_EQ(example.hashes[3], kNoDate);  // a missing cell of numbers is an empty one
  CHECK(std::isnan(example.read[3]));
  CHECK_EQ(example.hashes.size(), std::size_t{4});
}

TEST(rows_that_cannot_be_used_are_refused_with_all_their_cells) {
  const double largest = std::numeric_limits<float>::max();
  const auto good = [](const Columns& columns) {
    Reading reading(columns);
    reading.rows.open(reading.block);
    Example example;
    return reading.rows.read_all(1, example);
  };
  Columns columns = three_rows();
  CHECK(good(columns));
  for (const double number : {largest, -largest, 0.0}) {
    columns.doubles[1] = number;
    CHECK(good(columns));
  }
  for (const double number : {1e39, -1e39, static_cast<double>(INFINITY)}) {
    columns.doubles[1] = number;
    CHECK(!good(columns));
  }
  columns = three_rows();
  columns.date_numbers[0] = 1e39;
  CHECK(!good(columns));
  for (const double label : {1e39, kNan, -static_cast<double>(INFINITY)}) {
    columns = three_rows();
    columns.labels[1] = label;
    CHECK(!good(columns));
  }
  for (const float weight : {-1.0F, NAN, INFINITY}) {
    columns = three_rows();
    columns.weights[1] = weight;
    CHECK(!good(columns));
  }
}

TEST(rows_are_centred_as_the_first_rows_show_it) {
  const double start = 1.7e12;  // a Unix time in milliseconds
  Columns columns = three_rows();
  columns.doubles = {start, start + 4.0, kNan};
  columns.longs = {10, 0, 0};
  Reading reading(columns);
  reading.show_all();
  reading.rows.open(reading.block);
  CHECK(reading.read(0));
  CHECK_EQ(reading.seen(),
           "0x1p+0 1 |size 11:-1.00024414(1700000000000) 12:1.73205078(10) |look 14:1(inf) "
           "15:3(3) 16:0.25(0.25)");
  CHECK(reading.read(1));
  CHECK_EQ(reading.seen(),
           "0x1p+1 0.5 |size 11:0.999755859(1700000000004) |look 15:1.7e+09(1700000001)");
}

// Also if rows of the same shape only have their values written.
TEST(a_row_that_is_read_is_that_with_all_cells_once_it_is_centred) {
  Rng rng(1);
  Columns columns;
  for (int i = 0; i < 150; ++i) {
    columns.labels.push_back(rng.real());
    columns.weights.push_back(static_cast<float>(rng.below(3)));
    columns.doubles.push_back(rng.chance(6) ? kNan : 1e6 + static_cast<double>(rng.below(4)));
    columns.longs.push_back(rng.chance(9) ? 0 : 1000 + rng.below(5));
    columns.words.push_back(rng.chance(3) ? -1 : 0);
    columns.dates.push_back(rng.chance(9) ? -1 : static_cast<std::int32_t>(rng.below(3)));
  }
  columns.date_numbers = {1.7e9, 0.0, 1.7e9 + 1.0, 3.0, 1.7e9 + 2.0, 3.0};
  Reading reading(columns), other(columns);
  reading.show_all();
  other.show_all();
  reading.rows.open(reading.block);
  other.rows.open(other.block);
  for (std::size_t row = 0; row < columns.labels.size(); ++row) {
    CHECK(reading.read(row));
    CHECK(other.rows.read_all(row, other.example));
    other.centring.apply(other.example);
    other.example.order_runs(other.groups, other.empty);
    CHECK_EQ(reading.seen(), other.seen());
    reading.rows.mark_learned();
  }
}

TEST(a_centred_table_gives_what_dicts_give) {
  constexpr std::size_t kRows = 150;
  const Table table(2, kRows);
  Engine dicts(18, best_kernel());
  const std::vector<std::uint32_t> models = set_up(dicts);
  const ColumnBlock names = table.block(dicts);
  std::vector<double> served;
  for (std::size_t row = 0; row < kRows; ++row) {
    CHECK(table.parse(dicts, row, names) && dicts.take_label());
    if (dicts.step() == Status::kDecide) confirm_contest(dicts);
    served.push_back(dicts.served_raw());
  }
  CHECK(served[1] == table.labels[0] && dicts.centring().size() == 6);
  const std::string expected = end_of(dicts, models);
  for (const std::size_t chunk : {1U, 7U, 150U}) {
    for (const char* kernel : {"plain", "avx2", "avx512"}) {
      if (kernel_named(kernel) == nullptr) continue;
      Engine engine(18, kernel_named(kernel));
      set_up(engine);
      const ColumnBlock block = table.block(engine);
      for (std::size_t at = 0; at < kRows;) {
        const BlockProgress progress = engine.advance_columns(block, at, kRows, chunk);
        CHECK(progress.at > at);
        at = progress.at;
        if (progress.status == Status::kDecide) confirm_contest(engine);
      }
      CHECK(engine.record().predictions == served);
      CHECK_EQ(end_of(engine, models), expected);
    }
  }
}

TEST(centred_columns_stop_where_they_are_bad) {
  Table table(3, 30);
  table.numbers[1][5] = 1e39;
  table.labels[25] = kNan;
  Engine engine(18, best_kernel());
  set_up(engine);
  const ColumnBlock block = table.block(engine);
  BlockProgress progress = engine.advance_columns(block, 0, 30, 100);
  CHECK(progress.status == Status::kBad && progress.at == 5 && progress.examples == 5);
  progress = engine.advance_columns(block, 6, 30, 100);
  CHECK(progress.status == Status::kBad && progress.at == 25 && progress.examples == 19);
  table.numbers[4][28] = -1e39;  // it is no float, also where only the centred number is learned
  progress = engine.advance_columns(block, 26, 30, 100);
  CHECK(progress.status == Status::kBad && progress.at == 28 && progress.examples == 2);
  CHECK_EQ(engine.advance_columns(block, 29, 30, 100).examples, std::size_t{1});
}

// The shift of the column would round away in single precision.
TEST(a_column_may_have_any_unit_and_any_zero) {
  Rng rng(4);
  std::vector<double> labels, plain, moved;
  for (int i = 0; i < 100; ++i) {
    plain.push_back(static_cast<double>(rng.below(64)));
    moved.push_back(std::ldexp(plain.back() + 3e8, 5));
    labels.push_back(plain.back() + rng.real());
  }
  std::vector<std::vector<double>> served;
  for (const auto* numbers : {&plain, &moved}) {
    Engine engine(18, best_kernel());
    const std::vector<std::uint32_t> models = set_up(engine);
    ColumnBlock block;
    Column column;
    column.hash = 17;
    column.doubles = numbers->data();
    block.parts = {{engine.groups().number("a"), {column}}};
    block.rows = labels.size();
    block.labels = labels.data();
    for (std::size_t at = 0; at < labels.size();) {
      at = engine.advance_columns(block, at, labels.size(), 1000).at;
      if (engine.decision_due()) confirm_contest(engine);
    }
    served.push_back(engine.record().predictions);
  }
  CHECK_EQ(served[0].size(), labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    CHECK(std::fabs(served[0][i] - served[1][i]) < 0.05);
  }
}

TEST(a_0_in_the_first_row_is_like_any_other_number) {
  for (const double zero : {0.0, 1024.0}) {
    Engine engine(18, best_kernel());
    set_up(engine);
    engine.turn_on_derivation(4);
    const std::vector<double> labels = {1.0, 2.0, 3.0, 4.0, 5.0};
    const std::vector<double> numbers = {zero, zero + 7.0, zero + 3.0, zero + 9.0, zero + 5.0};
    ColumnBlock block;
    Column column;
    column.hash = 17;
    column.doubles = numbers.data();
    block.parts = {{engine.groups().number("a"), {column}}};
    block.rows = labels.size();
    block.labels = labels.data();
    for (std::size_t row = 0; row < labels.size(); ++row) {
      const std::vector<Derivation::ColumnView> tracked = engine.derivation().columns();
      CHECK(tracked.size() == (row > 0 ? 1U : 0U));
      CHECK(tracked.empty() || !tracked[0].stats->ready());  // the first row is no value
      CHECK_EQ(engine.advance_columns(block, row, row + 1, 1).examples, std::size_t{1});
      if (engine.decision_due()) confirm_contest(engine);
      CHECK_EQ(engine.observed().size_of(engine.groups().number("a")), 1.0);
    }
    const Derivation::ColumnView tracked = engine.derivation().columns().front();
    CHECK(tracked.stats->ready());
    CHECK_EQ(tracked.stats->least(), zero + 3.0);
    CHECK_EQ(tracked.stats->distinct(), 4U);
  }
}
