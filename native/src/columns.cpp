// Rows of tables: columns to examples, and the engine's way over them.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine.hpp"

namespace chacha {
namespace {

constexpr std::size_t kTile = 64;  // rows that are cut out of a block at once

}  // namespace

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
    for (std::uint32_t i = starts[cell]; i < starts[cell + 1]; ++i) example.add(hashes[i], values[i]);
    return;
  }
  for (std::size_t i = 0; i < missing_hashes.size(); ++i) example.add(missing_hashes[i], missing_values[i]);
}

std::string ColumnBlock::name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const {
  for (const Part& part : parts) {
    for (const Column& column : part.columns) {
      if (part.group == group && column.has_numbers() && column.hash == hash) return column.name;
    }
  }
  if (cells != nullptr) return cells->name(groups, group, hash);
  return std::to_string(hash - groups.seed(group));
}

void Engine::cut_tile(const ColumnBlock& block, std::size_t row, std::size_t end) {
  const bool same = tile_.block == &block;
  tile_.block = nullptr;
  tile_.filled = tile_.filled && same;
  tile_.again = false;
  tile_.columns = 0;
  for (const ColumnBlock::Part* part : tile_.own) tile_.columns += part->columns.size();
  tile_.numbers.resize(tile_.columns * kTile);
  tile_.column_of.resize(tile_.columns);
  tile_.row = row;
  tile_.rows = std::min(kTile, end - row);
  float* out = tile_.numbers.data();
  for (const ColumnBlock::Part* part : tile_.own) {
    for (const Column& column : part->columns) {
      if (column.has_numbers()) column.copy(row, tile_.rows, out);
      out += kTile;
    }
  }
  tile_.block = &block;
}

// A row like the last one: one feature of every column, so that only what differs is written.
// False if it is not like that; then it has to be read from the beginning.
bool Engine::refill_row(const ColumnBlock& block, std::size_t row) {
  if (!(tile_.grid ? refill_numbers(row) : refill_cells(row))) return false;
  example_.label = block.labels[row];
  if (block.weights != nullptr) example_.weight = block.weights[row];
  return std::isfinite(example_.label) && example_.weight >= 0.0F && std::isfinite(example_.weight);
}

bool Engine::refill_numbers(std::size_t row) {
  const float* number = tile_.numbers.data() + (row - tile_.row);
  float* value = example_.values.data();
  bool good = true;
  for (std::size_t i = 0; i < tile_.columns; ++i, number += kTile) {
    value[i] = *number;
    good &= (*number != 0.0F) & (std::fabs(*number) <= std::numeric_limits<float>::max());
  }
  return good;
}

bool Engine::refill_cells(std::size_t row) {
  const float* number = tile_.numbers.data() + (row - tile_.row);
  std::uint32_t* hash = example_.hashes.data();
  float* value = example_.values.data();
  bool good = true;
  for (const ColumnBlock::Part* part : tile_.own) {
    for (const Column& column : part->columns) {
      if (column.has_numbers()) {
        *value = *number;
        good &= *number != 0.0F && std::fabs(*number) <= std::numeric_limits<float>::max();
      } else {
        const std::int32_t cell = column.cell_of[row];
        if (cell < 0) return false;
        const std::uint32_t at = column.starts[static_cast<std::size_t>(cell)];
        if (column.starts[static_cast<std::size_t>(cell) + 1] != at + 1) return false;
        *hash = column.hashes[at];
        *value = column.values[at];
      }
      number += kTile;
      ++hash;
      ++value;
    }
  }
  return good;
}

// What is the same for all rows of a block.
void Engine::look_at(const ColumnBlock& block) {
  tile_.block = nullptr;  // another block may lie where one lay before
  tile_.filled = tile_.again = false;
  tile_.grid = true;
  tile_.own.clear();
  tile_.beside.clear();
  std::vector<Bank::TablePart> parts;
  std::array<bool, 256> letters{};
  for (const ColumnBlock::Part& part : block.parts) {
    const bool cells = std::all_of(part.columns.begin(), part.columns.end(), [](const Column& column) {
      return !column.has_numbers() && column.missing_hashes.empty();
    });
    if (cells && derivation_.gives(part.group)) {
      tile_.beside.push_back(&part);
      continue;
    }
    tile_.own.push_back(&part);
    bool& letter = letters[groups_.letter(part.group)];
    tile_.grid = tile_.grid && !letter && !part.columns.empty();
    letter = true;
    parts.push_back({part.group, {}});
    for (const Column& column : part.columns) {
      tile_.grid = tile_.grid && column.has_numbers() && column.missing_hashes.empty();
      parts.back().hashes.push_back(column.hash);
    }
  }
  const auto same = [](const Bank::TablePart& a, const Bank::TablePart& b) {
    return a.group == b.group && a.hashes == b.hashes;
  };
  if (std::equal(parts.begin(), parts.end(), tile_.parts.begin(), tile_.parts.end(), same)) return;
  tile_.parts = std::move(parts);
  ++tile_.number;
}

// A row of numbers in groups of different letters. False if a number is not finite.
bool Engine::read_numbers(std::size_t row) {
  example_.clear();
  example_.reserve(tile_.columns);
  const float* number = tile_.numbers.data() + (row - tile_.row);
  std::uint32_t* hashes = example_.hashes.data();
  float* values = example_.values.data();
  std::uint32_t* columns = tile_.column_of.data();
  std::uint32_t column = 0;
  std::uint32_t n = 0;
  bool finite = true;
  for (const Bank::TablePart& part : tile_.parts) {
    const std::uint32_t begin = n;
    for (const std::uint32_t hash : part.hashes) {
      const float value = *number;
      number += kTile;
      hashes[n] = hash;
      values[n] = value;
      columns[n] = column++;
      finite &= !(std::fabs(value) > std::numeric_limits<float>::max());
      n += static_cast<std::uint32_t>((value != 0.0F) & (value == value));  // NaN: an empty cell
    }
    if (n > begin) {
      Run& run = example_.runs.add();
      run.group = part.group;
      run.begin = begin;
      run.end = n;
    } else {
      tile_.empty.push_back(part.group);
    }
  }
  example_.hashes.set_size(n);
  example_.values.set_size(n);
  tile_.filled = n == tile_.columns;
  return finite;
}

// False if a number is not finite.
bool Engine::read_row(const ColumnBlock& block, std::size_t row) {
  example_.drop_derived();
  block.row = row;
  derivation_.clear_given();
  if (tile_.filled && refill_row(block, row)) {
    tile_.again = tile_.grid;
    give_cells(row);
    return true;
  }
  tile_.filled = tile_.again = false;
  tile_.empty.clear();
  bool finite = std::isfinite(block.labels[row]);
  finite &= tile_.grid ? read_numbers(row) : read_cells(row);
  example_.labelled = true;
  example_.label = block.labels[row];
  if (block.weights != nullptr) example_.weight = block.weights[row];
  settle(block);
  tile_.filled = tile_.filled && !derivation_.has_given();
  give_cells(row);
  for (const std::uint32_t group : tile_.empty) {
    if (!derivation_.sets_apart(group)) empty_.push_back(group);
  }
  return finite && example_.weight >= 0.0F && std::isfinite(example_.weight);
}

// Cells of groups that only some models have: they leave the other columns as they are.
void Engine::give_cells(std::size_t row) {
  for (const ColumnBlock::Part* part : tile_.beside) {
    for (const Column& column : part->columns) {
      if (column.cell_of[row] < 0) continue;
      const auto cell = static_cast<std::size_t>(column.cell_of[row]);
      for (std::uint32_t i = column.starts[cell]; i < column.starts[cell + 1]; ++i) {
        derivation_.give(part->group, column.hashes[i], column.values[i]);
      }
    }
  }
}

bool Engine::read_cells(std::size_t row) {
  example_.clear();
  bool finite = true;
  bool one_each = true;
  const float* number = tile_.numbers.data() + (row - tile_.row);
  for (const ColumnBlock::Part* part : tile_.own) {
    example_.open(part->group, groups_.letter(part->group));
    example_.reserve(part->columns.size());
    for (const Column& column : part->columns) {
      const float value = column.has_numbers() ? *number : 0.0F;
      number += kTile;
      if (column.has_numbers() && value == value) {
        example_.add_unless_zero(column.hash, value);
        finite &= std::fabs(value) <= std::numeric_limits<float>::max();
      } else {
        const std::size_t before = example_.hashes.size();
        column.append_cell(row, example_);
        one_each &= example_.hashes.size() == before + 1;
        example_.reserve(part->columns.size());
      }
    }
    example_.close();
  }
  tile_.filled = example_.settled() && one_each && example_.hashes.size() == tile_.columns;
  return finite;
}

Progress Engine::advance_columns(const ColumnBlock& block, std::size_t row, std::size_t end, std::size_t limit) {
  struct Leave {  // what comes next is no row of this block
    Tile& tile;
    ~Leave() {
      tile.block = nullptr;
      tile.again = false;
    }
  } const leave{tile_};
  std::size_t examples = 0;
  look_at(block);
  std::size_t work = 0;
  try {
    for (; examples < limit && row < end; ++row) {
      if (work > kWork) return {Status::kEnough, row, examples};
      if (tile_.block != &block || row < tile_.row || row >= tile_.row + tile_.rows) {
        cut_tile(block, row, std::min(end, row + (limit - examples)));
      }
      if (!read_row(block, row) || !take_label()) return {Status::kBad, row, examples};
      const Status status = recorded_step();
      if (status == Status::kBegin || status == Status::kOverdue) return {status, row, examples};
      ++examples;
      if (status == Status::kDecide) return {status, row + 1, examples};
      work += banks_.front()->features() + example_.hashes.size() + 16;
    }
  } catch (...) {
    return stopped(row, examples);
  }
  return {Status::kFine, row, examples};
}

}  // namespace chacha
