#include "data/column_block.hpp"

namespace chacha {

void Column::copy(std::size_t row, std::size_t count, float* out) const {
  const auto cast = [&](const auto* from) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(from[row + i]);
  };
  if (doubles != nullptr) cast(doubles);
  if (numbers != nullptr) cast(numbers);
  if (longs != nullptr) cast(longs);
  if (integers != nullptr) cast(integers);
}

void Column::append_cell(std::size_t row, Example& example) const {
  if (cell_of != nullptr && cell_of[row] >= 0) {
    const auto cell = static_cast<std::size_t>(cell_of[row]);
    for (std::uint32_t i = starts[cell]; i < starts[cell + 1]; ++i) {
      example.add(hashes[i], values[i]);
    }
    return;
  }
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
