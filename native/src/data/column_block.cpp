#include "data/column_block.hpp"

namespace chacha {

namespace {

template <class Number>
void copy_numbers(const Column& column, std::size_t row, std::size_t count, Number* out) {
  const auto cast = [&](const auto* from) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Number>(from[row + i]);
  };
  if (column.doubles != nullptr) cast(column.doubles);
  if (column.numbers != nullptr) cast(column.numbers);
  if (column.longs != nullptr) cast(column.longs);
  if (column.integers != nullptr) cast(column.integers);
}

}  // namespace

void Column::copy(std::size_t row, std::size_t count, float* out) const {
  copy_numbers(*this, row, count, out);
}

void Column::copy(std::size_t row, std::size_t count, double* out) const {
  copy_numbers(*this, row, count, out);
}

double Column::number(std::size_t row) const {
  double number = 0.0;
  copy_numbers(*this, row, 1, &number);
  return number;
}

void Column::append_cell(std::size_t row, Example& example) const {
  if (cell_of != nullptr && cell_of[row] >= 0) {
    const auto cell = static_cast<std::size_t>(cell_of[row]);
    for (std::uint32_t i = starts[cell]; i < starts[cell + 1]; ++i) {
      example.add(hashes[i], values[i]);
      if (has_numeric_cells()) example.add_read(cell_numbers[i]);
    }
    return;
  }
  if (has_numeric_cells() && !name.empty()) example.add_number(hash, kNoNumber);
  append_missing(example);
}

void Column::append_missing(Example& example) const {
  for (std::size_t i = 0; i < missing_hashes.size(); ++i) {
    example.add(missing_hashes[i], missing_values[i]);
  }
}

std::string ColumnBlock::name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const {
  for (const Part& part : parts) {
    for (const Column& column : part.columns) {
      if (part.group == group && column.has_numbers() && column.hash == hash) return column.name;
    }
  }
  if (cell_names != nullptr) return cell_names->name(groups, group, hash);
  return std::to_string(hash - groups.seed(group));
}

}  // namespace chacha
