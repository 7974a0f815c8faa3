// A block of rows of a table, column by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/example.hpp"
#include "data/names.hpp"

namespace chacha {

// One column of a block: a number per row, or a cell per row with any number of features.
struct Column {
  std::string name;  // of a column with one number a row; else empty
  std::uint32_t hash = 0;
  const float* numbers = nullptr;   // NaN: missing
  const double* doubles = nullptr;  // as `numbers`; rounded to the nearest float
  const std::int64_t* longs = nullptr;
  const std::int32_t* integers = nullptr;
  const std::int32_t* cell_of = nullptr;  // cell by row; -1: missing
  std::vector<std::uint32_t> starts;      // first feature of each cell, and the end of the last
  std::vector<std::uint32_t> hashes;
  std::vector<float> values;
  bool numeric_cells = false;                 // the features of its cells are numbers, also 0
  std::vector<double> cell_numbers;           // as `values`, if they are
  std::vector<std::uint32_t> missing_hashes;  // features of a missing cell
  std::vector<float> missing_values;

  bool has_numbers() const { return cell_of == nullptr; }
  bool has_numeric_cells() const { return numeric_cells; }
  // Writes the numbers of `count` rows from `row` on to `out`.
  void copy(std::size_t row, std::size_t count, float* out) const;
  void copy(std::size_t row, std::size_t count, double* out) const;
  // The number of a row; NaN: missing.
  double number(std::size_t row) const;
  // Adds the features of the cell of a row, which may be missing.
  void append_cell(std::size_t row, Example& example) const;
  // Adds the features of a missing cell.
  void append_missing(Example& example) const;
};

// The columns by group. Labels, weights and columns belong to the caller.
struct ColumnBlock : Names {
  std::string name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const override;
  const Names* cell_names = nullptr;  // names of the features of cells in `row`
  mutable std::size_t row = 0;        // the row that was read last

  struct Part {
    std::uint32_t group;
    std::vector<Column> columns;
  };
  std::vector<Part> parts;
  std::size_t rows = 0;
  const double* labels = nullptr;
  const float* weights = nullptr;  // null: all 1
};

}  // namespace chacha
