// Rows of a block of columns as examples.
//
// Most rows of a table have the same features with other values. The reader keeps the shape of the
// last row, so that a row of the same shape only needs its values written. Cells that are 0 or
// empty keep their place as absent features (data/absent.hpp), as long as there are few of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/pod.hpp"
#include "data/column_block.hpp"
#include "data/example.hpp"
#include "data/groups.hpp"
#include "features/centring.hpp"
#include "features/derivation.hpp"
#include "learner/bank.hpp"

namespace chacha {

class RowReader {
 public:
  RowReader(const Groups& groups, Derivation& derivation, const Centring& centring)
      : groups_(groups), derivation_(derivation), centring_(centring) {}

  // Begins to read a block. Groups must not become derived groups before `close`.
  void open(const ColumnBlock& block);
  // The next example is not a row of this block.
  void close() noexcept;

  // Reads a row into `example`, which must hold the last row that was read. `empty` receives the
  // groups without a feature. `end` limits how many rows are copied ahead. False if a number, the
  // label or the weight is not finite, or the weight is below 0.
  bool read(std::size_t row, std::size_t end, Example& example, std::vector<std::uint32_t>& empty);
  // Reads a row with all its cells, before numbers are centred: one of the first rows, whose cells
  // the centres come from. The caller does what is left to be done.
  bool read_all(std::size_t row, Example& example);
  // Whether a row of the block, read up to `end`, has a number that its column waits for.
  bool has_late_number(std::size_t row, std::size_t end);
  // Adds the cells of derived groups, which only some models use: they do not change the row's
  // shape.
  void add_given(std::size_t row);
  // The row that was read last was learned: its columns keep their places from now on.
  void mark_learned() noexcept;

  std::size_t bytes() const;  // beside the object itself

  // Whether the row has the features of the last one, which was learned, with other values.
  bool repeats_features() const { return tile_.repeats; }
  // Whether the row has only those features of a table of numbers that are not 0 or empty.
  bool is_sparse_row_of_numbers() const {
    return tile_.block != nullptr && tile_.all_numbers && !tile_.fixed_shape && !tile_.whole;
  }
  // The table of such a row, for Bank::lay_out and Bank::expand_row.
  const std::vector<Bank::TablePart>& table_parts() const { return tile_.table_parts; }
  std::uint64_t table_number() const { return tile_.table_number; }
  const std::uint32_t* present_columns() const { return tile_.present.data(); }

 private:
  struct NumberedPart {
    const ColumnBlock::Part* part;
    std::uint32_t begin;  // number of its first column
  };
  // Whether a column may be absent where it has a place, and where it has none.
  enum class Presence : char { kOptional, kRequiredInPlace, kRequired };
  // The feature of a column in a row, if it has at most one.
  struct Cell {
    std::uint32_t hash;
    float value;   // kAbsent: it has none
    bool several;  // it has more than one
  };
  // Some rows of a block, copied column by column, which is the order of the memory.
  struct Tile {
    const ColumnBlock* block = nullptr;
    std::vector<NumberedPart> parts;              // groups of all models, as in the block,
    std::vector<NumberedPart> parts_by_letter;    // and in VW's order if each has a feature
    std::vector<const ColumnBlock::Part*> given;  // derived groups, for some models
    std::vector<const Column*> columns;           // of `parts`
    std::size_t row = 0, rows = 0;
    Pod<float> numbers;
    Pod<double> read;                             // the same before they were centred
    std::vector<Centre> centres;                  // by column
    std::vector<std::vector<char>> late_cells;    // by column: whether it waits for the number
    std::vector<std::uint32_t> late;              // columns that wait for a number,
    std::uint64_t late_rows = 0;                  // and rows that have one: bit by bit
    std::vector<std::vector<float>> cell_values;  // by column: centred, of numeric cells
    std::uint64_t centring = 0;                   // its version
    bool all_numbers = false;                     // and groups of one letter are neighbours
    std::vector<Bank::TablePart> table_parts;
    std::uint64_t table_number = 0;      // changes with `table_parts`
    std::vector<char> seen;              // by column: it had a feature in a row that was learned
    std::vector<std::uint32_t> hash_of;  // by column: that of its last feature
    std::vector<Presence> presence;
    // The current row.
    std::vector<std::uint32_t> present, left_out;  // columns with a place, and without one
    std::size_t holes = 0;                         // absent features of columns with a place
    std::size_t fixed_from = 0;                    // first row for which places may be kept again
    std::size_t pause = 0;  // rows without kept places after the next one with many holes
    std::vector<std::uint32_t> empty_groups;
    bool whole = false;        // it was read with all its cells
    bool rebuilt = false;      // it was read from the beginning
    bool fixed_shape = false;  // it has exactly one feature of every column in `present`
    bool repeats = false;      // see repeats_features
  };

  void cut(std::size_t row, std::size_t end);
  bool finish(std::size_t row, Example& example);
  void order_by_letter();
  bool refill(std::size_t row, Example& example);
  bool refill_numbers(std::size_t row, Example& example);
  bool refill_cells(std::size_t row, Example& example);
  bool rebuild(std::size_t row, Example& example, std::vector<std::uint32_t>& empty);
  bool read_numbers(std::size_t row, bool keep_places, Example& example);
  bool read_cells(std::size_t row, bool keep_places, Example& example);
  void find_centres();
  void find_late_rows();
  bool is_late(std::uint32_t column, std::size_t row) const;
  bool is_cut(std::size_t row) const;
  bool centred_cells(std::uint32_t column) const {
    return centring_.on() && tile_.columns[column]->has_numeric_cells();
  }
  static double read_cell(const Column& column, std::size_t row);
  void append_cell(std::uint32_t column, std::size_t row, Example& example) const;
  void write_reads(std::size_t row, Example& example) const;
  Cell cell(std::uint32_t column, float number, std::size_t row) const;
  bool has_many_holes() const { return 3 * tile_.holes > 2 * tile_.present.size(); }
  std::size_t hole_cost(std::uint32_t column, bool in_place) const;

  const Groups& groups_;
  Derivation& derivation_;
  const Centring& centring_;
  Tile tile_;
};

}  // namespace chacha
