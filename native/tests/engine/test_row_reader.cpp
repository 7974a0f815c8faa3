// Columns of a table give the same as the rows as text.
#include <cmath>

#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

constexpr std::size_t kRows = 250;

// A table with a group of numbers and a group of words, in memory and as VW text.
struct Table {
  std::vector<double> labels;
  std::vector<float> weights, heights, widths;
  std::vector<std::int32_t> colors;
  ColumnBlock block;
  std::vector<std::string> lines;

  Table(Engine& engine, std::uint64_t seed) {
    Rng rng(seed);
    static const char* const names[] = {"red", "green", "blue"};
    const std::uint32_t numbers = hash_name("size", 0);
    const std::uint32_t words = hash_name("look", 0);
    for (std::size_t i = 0; i < kRows; ++i) {
      labels.push_back(static_cast<double>(rng.below(9)));
      weights.push_back(static_cast<float>(rng.below(3)));
      heights.push_back(rng.chance(5) ? NAN : static_cast<float>(rng.below(100)) * 0.25F);
      widths.push_back(static_cast<float>(rng.below(4)));
      colors.push_back(static_cast<std::int32_t>(rng.below(4)) - 1);
      std::string line = print("%g %g |size", labels[i], static_cast<double>(weights[i]));
      line += std::isnan(heights[i]) ? " height=none"
                                     : print(" height:%g", static_cast<double>(heights[i]));
      line += print(" width:%g |look", static_cast<double>(widths[i]));
      if (colors[i] >= 0) line += print(" color=%s bright:0.5", names[colors[i]]);
      lines.push_back(line);
    }
    Column height, width, color;
    height.hash = hash_name("height", numbers);
    height.numbers = heights.data();
    height.missing_hashes = {hash_name("height=none", numbers)};
    height.missing_values = {1.0F};
    width.hash = hash_name("width", numbers);
    width.numbers = widths.data();
    color.cell_of = colors.data();
    color.starts = {0};
    for (const char* name : names) {
      color.hashes.push_back(hash_name(std::string("color=") + name, words));
      color.hashes.push_back(hash_name("bright", words));
      color.values.insert(color.values.end(), {1.0F, 0.5F});
      color.starts.push_back(static_cast<std::uint32_t>(color.hashes.size()));
    }
    block.parts = {{engine.groups().number("size"), {height, width}},
                   {engine.groups().number("look"), {color}}};
    block.rows = kRows;
    block.labels = labels.data();
    block.weights = weights.data();
  }
};

// A champion, and two challengers of which one has a short lease.
Contenders contend(Engine& engine, const std::vector<std::uint32_t>& models) {
  Contenders contenders;
  contenders.set(
      engine, {{models[0], false, 1 << 30}, {models[1], true, 50}, {models[2], true, 1 << 30}}, 2);
  return contenders;
}

Contenders set_up(Engine& engine, std::vector<std::uint32_t>& models) {
  models = {engine.start(18, Options(), {}), engine.start(18, Options(), {{"size", "look"}}),
            engine.start(12, Options(), {{"size", "size"}})};
  engine.record().wanted = true;
  return contend(engine, models);
}

}  // namespace

TEST(columns_give_what_text_gives) {
  std::vector<std::uint32_t> models;
  Engine by_text(18, best_kernel());
  Engine by_columns(18, best_kernel());
  const Contenders contenders = set_up(by_text, models);
  set_up(by_columns, models);
  const Table table(by_columns, 30);
  std::string text;
  for (const std::string& line : table.lines) text += line + "\n";
  for (std::size_t at = 0; at < text.size(); contenders.confirm(by_text)) {
    at = by_text.advance_text(text, at, true, 17).at;
  }
  for (std::size_t row = 0; row < kRows; contenders.confirm(by_columns)) {
    row = by_columns.advance_columns(table.block, row, kRows, 13).at;
  }
  CHECK_EQ(by_columns.t(), static_cast<std::int64_t>(kRows));
  CHECK_EQ(picture(by_columns, models), picture(by_text, models));
}

// Numbers with empty cells, and groups of missing cells that only some models have.
TEST(empty_cells_beside_numbers_give_what_text_gives) {
  constexpr std::size_t kLong = 600;
  Rng rng(40);
  std::vector<double> labels;
  std::vector<float> heights, widths;
  std::vector<std::int32_t> no_height, no_width;
  std::string text;
  for (std::size_t i = 0; i < kLong; ++i) {
    const bool holes = i % 100 > 80;  // else rows are like the ones before
    labels.push_back(static_cast<double>(rng.below(9)));
    heights.push_back(holes && rng.chance(2) ? NAN : static_cast<float>(rng.below(50) + 1) * 0.25F);
    widths.push_back(
        holes && rng.chance(3) ? NAN : static_cast<float>(rng.below(50) + (i < 200 ? 0 : 1)));
    no_height.push_back(std::isnan(heights[i]) ? 0 : -1);
    no_width.push_back(std::isnan(widths[i]) ? 0 : -1);
    text += print("%g |size", labels[i]);
    if (no_height[i] < 0) text += print(" height:%g", static_cast<double>(heights[i]));
    text += " |look";
    if (no_width[i] < 0) text += print(" width:%g", static_cast<double>(widths[i]));
    if (no_height[i] == 0) text += " |missing(size) height";
    if (no_width[i] == 0) text += " |missing(look) width";
    text += "\n";
  }
  std::vector<std::string> ends;
  for (const bool by_text : {true, false}) {
    Engine engine(18, best_kernel());
    engine.turn_on_derivation(64);
    engine.add_derived("missing(size)", "missing", "size", 0.0);
    engine.add_derived("bins(size,4)", "bins", "size", 4.0);
    const std::vector<std::uint32_t> models = {
        engine.start(18, Options(), {}),
        engine.start(18, Options(), {{"missing(size)"}, {"missing(size)", "look"}}),
        engine.start(12, Options(), {{"bins(size,4)"}, {"size", "look"}})};
    const Contenders contenders = contend(engine, models);
    engine.record().wanted = true;
    const auto number = [&](const char* name) { return engine.groups().number(name); };
    const auto numbers = [&](const char* name, const char* group, const std::vector<float>& from) {
      Column column;
      column.hash = hash_name(name, engine.groups().seed(number(group)));
      column.name = name;
      column.numbers = from.data();
      return column;
    };
    const auto cells = [&](const char* name, const char* group,
                           const std::vector<std::int32_t>& from) {
      Column column;
      column.cell_of = from.data();
      column.starts = {0, 1};
      column.hashes = {hash_name(name, engine.groups().seed(number(group)))};
      column.values = {1.0F};
      return column;
    };
    ColumnBlock block;
    block.parts = {{number("size"), {numbers("height", "size", heights)}},
                   {number("look"), {numbers("width", "look", widths)}},
                   {number("missing(size)"), {cells("height", "missing(size)", no_height)}},
                   {number("missing(look)"), {cells("width", "missing(look)", no_width)}}};
    block.rows = kLong;
    block.labels = labels.data();
    for (std::size_t at = 0; at < (by_text ? text.size() : kLong); contenders.confirm(engine)) {
      at = by_text ? engine.advance_text(text, at, true, 17).at
                   : engine.advance_columns(block, at, kLong, 71).at;
    }
    CHECK_EQ(engine.t(), static_cast<std::int64_t>(kLong));
    CHECK_EQ(engine.derivation().missing_groups().size(), std::size_t{2});
    ends.push_back(picture(engine, models));
  }
  CHECK_EQ(ends[0], ends[1]);
}

TEST(columns_stop_where_text_stops) {
  std::vector<std::uint32_t> models;
  Engine engine(18, best_kernel());
  set_up(engine, models);
  Table table(engine, 31);
  engine.wait_for(Wait::kNextExample);
  CHECK(engine.advance_columns(table.block, 0, kRows, 10).status == Status::kBegin);
  engine.wait_for(Wait::kNothing);
  const BlockProgress limited = engine.advance_columns(table.block, 0, kRows, 4);
  CHECK(limited.status == Status::kFine);
  CHECK_EQ(limited.at, std::size_t{4});
  CHECK_EQ(engine.advance_columns(table.block, 4, 6, 100).at, std::size_t{6});
  CHECK_EQ(engine.advance_columns(table.block, 6, 6, 100).examples, std::size_t{0});
  for (const float odd : {NAN, INFINITY, -INFINITY}) {
    table.labels[8] = static_cast<double>(odd);
    const BlockProgress bad = engine.advance_columns(table.block, 6, kRows, 100);
    CHECK(bad.status == Status::kBad);
    CHECK_EQ(bad.at, std::size_t{8});
    CHECK_EQ(engine.advance_columns(table.block, 8, kRows, 100).examples, std::size_t{0});
  }
  table.labels[8] = 1.0;
  for (const float odd : {NAN, INFINITY, -1.0F}) {
    table.weights[8] = odd;
    CHECK(engine.advance_columns(table.block, 8, kRows, 100).status == Status::kBad);
  }
}

TEST(infinite_numbers_of_a_column_are_bad) {
  std::vector<std::uint32_t> models;
  Engine engine(18, best_kernel());
  set_up(engine, models);
  Table table(engine, 32);
  table.widths[1] = INFINITY;
  const BlockProgress bad = engine.advance_columns(table.block, 0, kRows, 100);
  CHECK(bad.status == Status::kBad);
  CHECK_EQ(bad.at, std::size_t{1});
}

TEST(numbers_may_come_in_four_forms) {
  std::vector<std::string> ends;
  const std::vector<double> labels = {1, 2, 0, 3};
  const std::vector<float> floats = {5, -3, 0, 7};
  const std::vector<double> doubles(floats.begin(), floats.end());
  const std::vector<std::int64_t> longs = {5, -3, 0, 7};
  const std::vector<std::int32_t> integers = {5, -3, 0, 7};
  for (int form = 0; form < 4; ++form) {
    std::vector<std::uint32_t> models;
    Engine engine(18, best_kernel());
    set_up(engine, models);
    Column column;
    column.hash = 17;
    if (form == 0) column.numbers = floats.data();
    if (form == 1) column.doubles = doubles.data();
    if (form == 2) column.longs = longs.data();
    if (form == 3) column.integers = integers.data();
    ColumnBlock block;
    block.parts = {{engine.groups().number("size"), {column}}};
    block.rows = labels.size();
    block.labels = labels.data();
    CHECK_EQ(engine.advance_columns(block, 0, 4, 10).at, std::size_t{4});
    ends.push_back(picture(engine, models));
    CHECK_EQ(ends.back(), ends.front());
  }
}

// Numbers are written without a check for room: a large cell before them must leave some.
TEST(large_cells_leave_room_for_numbers) {
  for (std::uint32_t size = 1; size < 80; ++size) {
    std::vector<std::uint32_t> models;
    Engine engine(18, best_kernel());
    set_up(engine, models);
    const std::vector<double> labels = {1, 2};
    const std::vector<float> numbers = {5, NAN};
    const std::vector<std::int32_t> cell_of = {0, -1};
    Column cells, number;
    cells.cell_of = cell_of.data();
    cells.starts = {0, size};
    cells.hashes.assign(size, 3);
    cells.values.assign(size, 0.5F);
    cells.missing_hashes.assign(size + 1, 4);
    cells.missing_values.assign(size + 1, 0.25F);
    number.hash = 17;
    number.numbers = numbers.data();
    number.missing_hashes.assign(size, 5);
    number.missing_values.assign(size, 1.0F);
    ColumnBlock block;
    block.parts = {{engine.groups().number("look"), {cells, number, cells, number, number}}};
    block.rows = labels.size();
    block.labels = labels.data();
    CHECK_EQ(engine.advance_columns(block, 0, 2, 10).at, std::size_t{2});
    CHECK_EQ(engine.example().hashes.size(), std::size_t{5} * size + 2);
  }
}
