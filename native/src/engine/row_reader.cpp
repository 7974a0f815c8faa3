// Rows of tables: columns to examples, and the engine's way over them.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/engine.hpp"

namespace chacha {
namespace {

constexpr std::size_t kTile = 64;   // rows that are cut out of a block at once
constexpr std::size_t kFewest = 8;  // rows that are read as they are, after one with many holes
constexpr std::size_t kMost = 1024;

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
  tile_.numbers.resize(tile_.columns.size() * kTile);
  tile_.row = row;
  tile_.rows = std::min(kTile, end - row);
  float* out = tile_.numbers.data();
  for (const Column* column : tile_.columns) {
    if (column->has_numbers()) column->copy(row, tile_.rows, out);
    out += kTile;
  }
  tile_.block = &block;
}

// What is the same for all rows of a block.
void Engine::look_at(const ColumnBlock& block) {
  tile_.block = nullptr;  // another block may lie where one lay before
  tile_.filled = tile_.again = false;
  tile_.grid = true;
  tile_.own.clear();
  tile_.beside.clear();
  tile_.columns.clear();
  std::vector<Bank::TablePart> parts;
  for (const ColumnBlock::Part& part : block.parts) {
    const bool cells = std::all_of(part.columns.begin(), part.columns.end(), [](const Column& column) {
      return !column.has_numbers() && column.missing_hashes.empty();
    });
    if (cells && derivation_.gives(part.group)) {
      tile_.beside.push_back(&part);
      continue;
    }
    tile_.own.push_back({&part, static_cast<std::uint32_t>(tile_.columns.size())});
    tile_.grid = tile_.grid && !part.columns.empty();
    parts.push_back({part.group, {}});
    for (const Column& column : part.columns) {
      tile_.grid = tile_.grid && column.has_numbers() && column.missing_hashes.empty();
      tile_.columns.push_back(&column);
      parts.back().hashes.push_back(column.hash);
    }
  }
  put_in_order();
  const std::size_t count = tile_.columns.size();
  tile_.kept.reserve(count);
  tile_.rest.reserve(count);
  tile_.read_from = 0;
  const auto same = [](const Bank::TablePart& a, const Bank::TablePart& b) {
    return a.group == b.group && a.hashes == b.hashes;
  };
  if (std::equal(parts.begin(), parts.end(), tile_.parts.begin(), tile_.parts.end(), same)) return;
  tile_.parts.clear();  // if there is no memory for what follows, nothing is known
  tile_.known.assign(count, 0);
  tile_.hash_of.assign(count, 0);
  tile_.pause = kFewest;
  tile_.parts = std::move(parts);
  ++tile_.number;
}

// The groups of one letter together, as VW has them. If they do not stand so, the first of them
// decides where they are: then it may not be without a feature. If derived groups begin with the
// letter, where these are depends on whether there is a feature at all.
void Engine::put_in_order() {
  constexpr std::size_t kLetters = 256;
  std::array<std::size_t, kLetters> first{}, last{};  // 1 + the place of a part
  std::array<bool, kLetters> apart{};
  tile_.in_order = tile_.own;
  for (std::size_t i = 0; i < tile_.own.size(); ++i) {
    const unsigned char letter = groups_.letter(tile_.own[i].part->group);
    if (first[letter] == 0) first[letter] = i + 1;
    apart[letter] |= last[letter] != 0 && last[letter] != i;
    last[letter] = i + 1;
  }
  const auto place = [&](const OwnPart& own) { return first[groups_.letter(own.part->group)]; };
  std::stable_sort(tile_.in_order.begin(), tile_.in_order.end(),
                   [&](const OwnPart& a, const OwnPart& b) { return place(a) < place(b); });
  tile_.firm.assign(tile_.columns.size(), Firm::kNo);
  for (std::size_t i = 0; i < tile_.own.size(); ++i) {
    const auto [part, begin] = tile_.own[i];
    const unsigned char letter = groups_.letter(part->group);
    tile_.grid = tile_.grid && !apart[letter];
    const bool leads = apart[letter] && first[letter] == i + 1;
    const Firm firm = leads ? Firm::kLeads : derivation_.has_letter(letter) ? Firm::kNoHole : Firm::kNo;
    std::fill_n(tile_.firm.begin() + begin, part->columns.size(), firm);
  }
}

// A row like the last one: one feature of every column that is kept, so that only what differs is
// written. False if it is not like that; then it has to be read from the beginning.
bool Engine::refill_row(const ColumnBlock& block, std::size_t row) {
  tile_.holes = 0;
  if (!(tile_.grid ? refill_numbers(row) : refill_cells(row))) return false;
  if (too_many_holes()) return false;
  example_.label = block.labels[row];
  if (block.weights != nullptr) example_.weight = block.weights[row];
  return std::isfinite(example_.label) && example_.weight >= 0.0F && std::isfinite(example_.weight);
}

// Columns that are 0 or empty keep their places, so that rows have one shape: those that are known,
// as long as a third is there.
bool Engine::too_many_holes() const { return 3 * tile_.holes > 2 * tile_.kept.size(); }

// How much it counts that a column has no feature.
std::size_t Engine::hole(std::uint32_t column, bool kept) const {
  const bool fine = tile_.firm[column] == Firm::kNo || (tile_.firm[column] == Firm::kNoHole && !kept);
  if (fine) return kept ? 1 : 0;
  return tile_.columns.size();
}

bool Engine::refill_numbers(std::size_t row) {
  const float* numbers = tile_.numbers.data() + (row - tile_.row);
  float* value = example_.values.data();
  bool good = true;
  for (const std::uint32_t column : tile_.kept) {
    const float number = numbers[column * kTile];
    const bool there = is_there(number);  // NaN: an empty cell
    *value++ = there ? number : kAbsent;
    tile_.holes += there ? 0 : hole(column, true);
    good &= !(std::fabs(number) > std::numeric_limits<float>::max());
  }
  for (const std::uint32_t column : tile_.rest) good &= !is_there(numbers[column * kTile]);
  return good;
}

bool Engine::refill_cells(std::size_t row) {
  const float* numbers = tile_.numbers.data() + (row - tile_.row);
  std::uint32_t* hash = example_.hashes.data();
  float* value = example_.values.data();
  for (const std::uint32_t number : tile_.kept) {
    Single found = single(number, numbers[number * kTile], row);
    if (found.several || std::fabs(found.value) > std::numeric_limits<float>::max()) return false;
    if (is_there(found.value)) {
      *hash = found.hash;
    } else {
      found.value = kAbsent;
      tile_.holes += hole(number, true);
    }
    *value++ = found.value;
    ++hash;
  }
  return std::none_of(tile_.rest.begin(), tile_.rest.end(), [&](std::uint32_t number) {
    const Single found = single(number, numbers[number * kTile], row);
    return found.several || is_there(found.value);
  });
}

// The feature of a column in a row, if it has one at most; absent: it has none.
Engine::Single Engine::single(std::uint32_t number, float value, std::size_t row) const {
  const Column& column = *tile_.columns[number];
  if (column.has_numbers() && value == value) return {column.hash, value, false};
  const std::int32_t cell = column.has_numbers() ? -1 : column.cell_of[row];
  if (cell < 0) return {0, kAbsent, !column.missing_hashes.empty()};
  const std::uint32_t at = column.starts[static_cast<std::size_t>(cell)];
  const std::uint32_t end = column.starts[static_cast<std::size_t>(cell) + 1];
  if (end == at) return {0, kAbsent, false};
  return {column.hashes[at], column.values[at], end > at + 1};
}

// False if a number is not finite.
bool Engine::read_row(const ColumnBlock& block, std::size_t row) {
  example_.drop_derived();
  block.row = row;
  derivation_.clear_given();
  if (tile_.filled && refill_row(block, row)) {
    tile_.again = tile_.grid;
    tile_.fresh = false;
    tile_.pause = kFewest;
    give_cells(row);
    return true;
  }
  tile_.again = false;
  tile_.fresh = true;
  const auto read = [&](bool keep) {
    tile_.kept.clear();
    tile_.rest.clear();
    tile_.empty.clear();
    tile_.holes = 0;
    return tile_.grid ? read_numbers(row, keep) : read_cells(row, keep);
  };
  bool finite = read(row >= tile_.read_from);
  if (too_many_holes()) {
    finite = read(false);
    tile_.read_from = row + tile_.pause;
    tile_.pause = std::min(2 * tile_.pause, kMost);
  }
  finite &= std::isfinite(block.labels[row]);
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

// A row of numbers. `keep`: known columns that are 0 or empty keep their places. False if a number
// is not finite.
bool Engine::read_numbers(std::size_t row, bool keep) {
  example_.clear();
  example_.reserve(tile_.columns.size());
  const float* number = tile_.numbers.data() + (row - tile_.row);
  std::uint32_t* hashes = example_.hashes.data();
  float* values = example_.values.data();
  std::uint32_t column = 0;
  std::uint32_t n = 0;
  bool finite = true;
  for (const Bank::TablePart& part : tile_.parts) {
    const std::uint32_t begin = n;
    for (const std::uint32_t hash : part.hashes) {
      const bool there = is_there(*number);  // NaN: an empty cell
      const bool kept = there || (keep && tile_.known[column] != 0);
      hashes[n] = tile_.hash_of[column] = hash;
      values[n] = there ? *number : kAbsent;
      finite &= !(std::fabs(*number) > std::numeric_limits<float>::max());
      tile_.holes += keep && !there ? hole(column, kept) : 0;
      (kept ? tile_.kept : tile_.rest).push_back(column);
      n += kept ? 1U : 0U;
      number += kTile;
      ++column;
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
  tile_.filled = keep;
  return finite;
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

bool Engine::read_cells(std::size_t row, bool keep) {
  example_.clear();
  bool finite = true;
  bool one_each = true;
  const float* numbers = tile_.numbers.data() + (row - tile_.row);
  for (const auto& [part, begin] : keep ? tile_.in_order : tile_.own) {
    std::uint32_t number = begin;
    example_.open(part->group, groups_.letter(part->group));
    for (const Column& column : part->columns) {
      const Single found = single(number, numbers[number * kTile], row);
      const bool there = is_there(found.value);
      const bool kept = found.several || there || (keep && tile_.known[number] != 0);
      if (found.several) {
        column.append_cell(row, example_);
        one_each = false;
      } else if (kept) {
        if (there) tile_.hash_of[number] = found.hash;
        example_.add(tile_.hash_of[number], there ? found.value : kAbsent);
      }
      if (keep && !there && !found.several) tile_.holes += hole(number, kept);
      finite &= !(std::fabs(found.value) > std::numeric_limits<float>::max());
      (kept ? tile_.kept : tile_.rest).push_back(number++);
    }
    example_.close();
  }
  tile_.filled = one_each && keep;
  return finite;
}

// The row was learned: the columns that it had are known.
void Engine::know_columns() noexcept {
  if (!tile_.filled || !tile_.fresh) return;
  for (const std::uint32_t column : tile_.kept) tile_.known[column] = 1;
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
      know_columns();
      if (status == Status::kDecide) return {status, row + 1, examples};
      work += banks_.front()->features() + example_.hashes.size() + 16;
    }
  } catch (...) {
    return stopped(row, examples);
  }
  return {Status::kFine, row, examples};
}

}  // namespace chacha
