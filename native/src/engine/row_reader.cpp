#include "engine/row_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/bytes.hpp"

namespace chacha {
namespace {

constexpr std::size_t kTileRows = 64;    // rows that are copied out of a block at once: a bit each
constexpr std::size_t kFewestPause = 8;  // rows without kept places after one with many holes
constexpr std::size_t kMostPause = 1024;

bool is_infinite(float value) { return std::fabs(value) > std::numeric_limits<float>::max(); }

bool is_weight(float value) { return value >= 0.0F && std::isfinite(value); }

// A number that no float can hold is not finite, even if it is near the centre of its column.
float centred(const Centre& centre, double number) {
  const auto single = static_cast<float>(number);
  return is_infinite(single) ? single : centre.of(number);
}

// The same for many numbers, without a branch for each if the centre is known.
void centre_all(const Centre& centre, const double* numbers, std::size_t count, float* out) {
  if (centre.waits()) {
    for (std::size_t k = 0; k < count; ++k) out[k] = centred(centre, numbers[k]);
    return;
  }
  for (std::size_t k = 0; k < count; ++k) {
    const auto single = static_cast<float>(numbers[k]);
    const float value = centre.known_of(numbers[k]);
    out[k] = is_infinite(single) ? single : value;
  }
}

}  // namespace

// Collects what is the same for all rows of a block.
void RowReader::open(const ColumnBlock& block) {
  close();  // another block may have had the same address
  tile_.rows = 0;
  tile_.fixed_shape = false;
  tile_.all_numbers = true;
  tile_.parts.clear();
  tile_.given.clear();
  tile_.columns.clear();
  tile_.centres.clear();
  std::vector<Bank::TablePart> table_parts;
  for (const ColumnBlock::Part& part : block.parts) {
    const bool cells =
        std::all_of(part.columns.begin(), part.columns.end(), [](const Column& column) {
          return !column.has_numbers() && column.missing_hashes.empty();
        });
    if (cells && derivation_.accepts_given(part.group)) {
      tile_.given.push_back(&part);
      continue;
    }
    tile_.parts.push_back({&part, static_cast<std::uint32_t>(tile_.columns.size())});
    tile_.all_numbers = tile_.all_numbers && !part.columns.empty();
    table_parts.push_back({part.group, {}});
    for (const Column& column : part.columns) {
      tile_.all_numbers =
          tile_.all_numbers && column.has_numbers() && column.missing_hashes.empty();
      tile_.columns.push_back(&column);
      table_parts.back().hashes.push_back(column.hash);
    }
  }
  order_by_letter();
  const std::size_t count = tile_.columns.size();
  tile_.present.reserve(count);
  tile_.left_out.reserve(count);
  tile_.fixed_from = 0;
  const auto same = [](const Bank::TablePart& a, const Bank::TablePart& b) {
    return a.group == b.group && a.hashes == b.hashes;
  };
  if (!std::equal(table_parts.begin(), table_parts.end(), tile_.table_parts.begin(),
                  tile_.table_parts.end(), same)) {
    tile_.table_parts.clear();  // if an allocation below fails, the table counts as new
    tile_.seen.assign(count, 0);
    tile_.hash_of.assign(count, 0);
    tile_.pause = kFewestPause;
    tile_.table_parts = std::move(table_parts);
    ++tile_.table_number;
  }
  tile_.block = &block;
}

void RowReader::close() noexcept {
  tile_.block = nullptr;
  tile_.repeats = false;
}

// Copies rows from `row` on out of the block.
void RowReader::cut(std::size_t row, std::size_t end) {
  tile_.rows = 0;  // if there is no memory, no row was copied
  tile_.numbers.resize(tile_.columns.size() * kTileRows);
  const std::size_t rows = std::min(kTileRows, end - row);
  float* out = tile_.numbers.data();
  if (centring_.on()) {
    tile_.read.resize(tile_.columns.size() * kTileRows);
    find_centres();
    double* read = tile_.read.data();
    for (std::size_t i = 0; i < tile_.columns.size(); ++i) {
      if (tile_.columns[i]->has_numbers()) {
        tile_.columns[i]->copy(row, rows, read);
        centre_all(tile_.centres[i], read, rows, out);
      }
      out += kTileRows;
      read += kTileRows;
    }
  } else {
    for (const Column* column : tile_.columns) {
      if (column->has_numbers()) column->copy(row, rows, out);
      out += kTileRows;
    }
  }
  tile_.row = row;
  tile_.rows = rows;
  find_late_rows();
}

// Whether the row was copied, and centred as is known by now.
bool RowReader::is_cut(std::size_t row) const {
  const bool changed = centring_.on() && tile_.centring != centring_.version();
  return !changed && row >= tile_.row && row < tile_.row + tile_.rows;
}

// Puts groups of one letter together, as VW does. Where they are apart in the block, the first of
// them decides the place of all, so it must have a feature. Where derived groups share the letter,
// their place depends on whether there is a feature at all.
void RowReader::order_by_letter() {
  constexpr std::size_t kLetters = 256;
  std::array<std::size_t, kLetters> first{}, last{};  // 1 + the position of a part
  std::array<bool, kLetters> apart{};
  tile_.parts_by_letter = tile_.parts;
  for (std::size_t i = 0; i < tile_.parts.size(); ++i) {
    const unsigned char letter = groups_.letter(tile_.parts[i].part->group);
    if (first[letter] == 0) first[letter] = i + 1;
    apart[letter] |= last[letter] != 0 && last[letter] != i;
    last[letter] = i + 1;
  }
  const auto position = [&](const NumberedPart& numbered) {
    return first[groups_.letter(numbered.part->group)];
  };
  std::stable_sort(
      tile_.parts_by_letter.begin(), tile_.parts_by_letter.end(),
      [&](const NumberedPart& a, const NumberedPart& b) { return position(a) < position(b); });
  tile_.presence.assign(tile_.columns.size(), Presence::kOptional);
  for (std::size_t i = 0; i < tile_.parts.size(); ++i) {
    const auto [part, begin] = tile_.parts[i];
    const unsigned char letter = groups_.letter(part->group);
    tile_.all_numbers = tile_.all_numbers && !apart[letter];
    Presence presence = Presence::kOptional;
    if (derivation_.has_letter(letter)) presence = Presence::kRequiredInPlace;
    if (apart[letter] && first[letter] == i + 1) presence = Presence::kRequired;
    std::fill_n(tile_.presence.begin() + begin, part->columns.size(), presence);
  }
}

// Looks up how the columns are centred, unless nothing has changed since.
void RowReader::find_centres() {
  if (tile_.centres.size() == tile_.columns.size() && tile_.centring == centring_.version()) return;
  tile_.centres.assign(tile_.columns.size(), Centre());
  tile_.cell_values.assign(tile_.columns.size(), {});
  tile_.late_cells.assign(tile_.columns.size(), {});
  tile_.late.clear();
  tile_.rows = 0;  // what was copied is centred otherwise
  for (const auto& [part, begin] : tile_.parts) {
    for (std::size_t i = 0; i < part->columns.size(); ++i) {
      const Column& column = part->columns[i];
      if (column.has_numbers()) {
        tile_.centres[begin + i] = centring_.of(part->group, column.hash);
        if (tile_.centres[begin + i].waits()) {
          tile_.late.push_back(begin + static_cast<std::uint32_t>(i));
        }
      } else if (column.has_numeric_cells()) {
        std::vector<float>& values = tile_.cell_values[begin + i];
        std::vector<char>& late = tile_.late_cells[begin + i];
        for (std::size_t k = 0; k < column.values.size(); ++k) {
          const Centre centre = centring_.of(part->group, column.hashes[k]);
          const float value = centred(centre, column.cell_numbers[k]);
          values.push_back(is_there(value) ? value : kAbsent);
          late.push_back(centre.waits_for(column.cell_numbers[k]) ? 1 : 0);
        }
        if (std::count(late.begin(), late.end(), 1) > 0) {
          tile_.late.push_back(begin + static_cast<std::uint32_t>(i));
        }
      }
    }
  }
  tile_.centring = centring_.version();
}

bool RowReader::has_late_number(std::size_t row, std::size_t end) {
  if (!centring_.on()) return false;
  if (!is_cut(row)) cut(row, end);
  return (tile_.late_rows >> (row - tile_.row) & 1U) != 0;
}

void RowReader::find_late_rows() {
  tile_.late_rows = 0;
  for (std::size_t k = 0; k < tile_.rows; ++k) {
    const bool late = std::any_of(tile_.late.begin(), tile_.late.end(),
                                  [&](std::uint32_t number) { return is_late(number, k); });
    tile_.late_rows |= std::uint64_t{late} << k;
  }
}

// Whether the `row`-th row that was copied has a number that a column waits for.
bool RowReader::is_late(std::uint32_t number, std::size_t row) const {
  const Column& column = *tile_.columns[number];
  if (column.has_numbers()) {
    return tile_.centres[number].waits_for(tile_.read[number * kTileRows + row]);
  }
  const std::int32_t cell = column.cell_of[tile_.row + row];
  if (cell < 0) return false;
  const auto at = static_cast<std::size_t>(cell);
  const char* const late = tile_.late_cells[number].data();
  return std::count(late + column.starts[at], late + column.starts[at + 1], 1) > 0;
}

bool RowReader::read_all(std::size_t row, Example& example) {
  tile_.fixed_shape = tile_.repeats = false;
  tile_.whole = true;
  tile_.block->row = row;
  example.clear();
  bool finite = true;
  for (const NumberedPart& numbered : tile_.parts) {
    example.open(numbered.part->group, groups_.letter(numbered.part->group));
    for (const Column& column : numbered.part->columns) {
      if (!column.has_numbers()) {
        column.append_cell(row, example);
        continue;
      }
      const double number = column.number(row);
      finite &= !is_infinite(static_cast<float>(number));
      example.add_number(column.hash, number);
      if (number != number) column.append_missing(example);
    }
    example.close();
  }
  example.add_reads();
  for (const float value : example.values) finite &= !is_infinite(value);
  return finish(row, example) && finite;
}

bool RowReader::read(std::size_t row, std::size_t end, Example& example,
                     std::vector<std::uint32_t>& empty) {
  if (!is_cut(row)) cut(row, end);
  tile_.whole = false;
  example.drop_derived();
  tile_.block->row = row;
  derivation_.clear_given();
  if (!tile_.fixed_shape || !refill(row, example)) return rebuild(row, example, empty);
  tile_.repeats = tile_.all_numbers;
  tile_.rebuilt = false;
  tile_.pause = kFewestPause;
  add_given(row);
  return true;
}

// Writes the values of a row with the shape of the last one. False if its shape differs or a number
// is not finite; then it must be rebuilt.
bool RowReader::refill(std::size_t row, Example& example) {
  tile_.holes = 0;
  if (!(tile_.all_numbers ? refill_numbers(row, example) : refill_cells(row, example))) {
    return false;
  }
  write_reads(row, example);
  return !has_many_holes() && finish(row, example);
}

// Sets label and weight. False if one of them cannot be used.
bool RowReader::finish(std::size_t row, Example& example) {
  const ColumnBlock& block = *tile_.block;
  example.set_label(block.labels[row]);
  if (block.weights != nullptr) example.weight = block.weights[row];
  return std::isfinite(example.label) && is_weight(example.weight);
}

// The number of holes that an absent feature counts as: more than a row may have if the column must
// be present.
std::size_t RowReader::hole_cost(std::uint32_t column, bool in_place) const {
  const Presence presence = tile_.presence[column];
  const bool optional =
      presence == Presence::kOptional || (presence == Presence::kRequiredInPlace && !in_place);
  if (optional) return in_place ? 1 : 0;
  return tile_.columns.size();
}

// What the only feature of a cell was read as.
double RowReader::read_cell(const Column& column, std::size_t row) {
  if (!column.has_numeric_cells() || column.cell_of[row] < 0) return kWords;
  const std::uint32_t at = column.starts[static_cast<std::size_t>(column.cell_of[row])];
  return at < column.cell_numbers.size() ? column.cell_numbers[at] : kWords;
}

// Writes what the columns in place were read as; `read` has room for it.
void RowReader::write_reads(std::size_t row, Example& example) const {
  if (!centring_.on()) return;
  const double* read = tile_.read.data() + (row - tile_.row);
  double* out = example.read.data();
  if (tile_.all_numbers) {
    for (const std::uint32_t column : tile_.present) *out++ = read[column * kTileRows];
    return;
  }
  for (const std::uint32_t column : tile_.present) {
    const Column& each = *tile_.columns[column];
    *out++ = each.has_numbers() ? read[column * kTileRows] : read_cell(each, row);
  }
}

bool RowReader::refill_numbers(std::size_t row, Example& example) {
  const float* numbers = tile_.numbers.data() + (row - tile_.row);
  float* value = example.values.data();
  bool good = true;
  for (const std::uint32_t column : tile_.present) {
    const float number = numbers[column * kTileRows];
    const bool there = is_there(number);  // NaN: an empty cell
    *value++ = there ? number : kAbsent;
    tile_.holes += there ? 0 : hole_cost(column, true);
    good &= !is_infinite(number);
  }
  for (const std::uint32_t column : tile_.left_out) good &= !is_there(numbers[column * kTileRows]);
  return good;
}

bool RowReader::refill_cells(std::size_t row, Example& example) {
  const float* numbers = tile_.numbers.data() + (row - tile_.row);
  std::uint32_t* hash = example.hashes.data();
  float* value = example.values.data();
  for (const std::uint32_t column : tile_.present) {
    Cell feature = cell(column, numbers[column * kTileRows], row);
    if (feature.several || is_infinite(feature.value)) return false;
    if (is_there(feature.value)) {
      *hash = feature.hash;
    } else {
      feature.value = kAbsent;
      tile_.holes += hole_cost(column, true);
    }
    *value++ = feature.value;
    ++hash;
  }
  return std::none_of(tile_.left_out.begin(), tile_.left_out.end(), [&](std::uint32_t column) {
    const Cell feature = cell(column, numbers[column * kTileRows], row);
    return feature.several || is_there(feature.value);
  });
}

RowReader::Cell RowReader::cell(std::uint32_t number, float value, std::size_t row) const {
  const Column& column = *tile_.columns[number];
  if (column.has_numbers() && value == value) return {column.hash, value, false};
  const std::int32_t cell = column.has_numbers() ? -1 : column.cell_of[row];
  if (cell < 0) return {0, kAbsent, !column.missing_hashes.empty()};
  const std::uint32_t begin = column.starts[static_cast<std::size_t>(cell)];
  const std::uint32_t end = column.starts[static_cast<std::size_t>(cell) + 1];
  if (end == begin) return {0, kAbsent, false};
  const std::vector<float>& values =
      centred_cells(number) ? tile_.cell_values[number] : column.values;
  return {column.hashes[begin], values[begin], end > begin + 1};
}

// Adds the features of a cell with several of them.
void RowReader::append_cell(std::uint32_t number, std::size_t row, Example& example) const {
  const Column& column = *tile_.columns[number];
  const std::int32_t cell = column.has_numbers() ? -1 : column.cell_of[row];
  if (cell < 0 || !centred_cells(number)) {
    column.append_cell(row, example);
    return;
  }
  const std::vector<float>& values = tile_.cell_values[number];
  const auto at = static_cast<std::size_t>(cell);
  for (std::uint32_t i = column.starts[at]; i < column.starts[at + 1]; ++i) {
    if (is_absent(values[i])) continue;
    example.add(column.hashes[i], values[i]);
    example.add_read(column.cell_numbers[i]);
  }
}

// Reads a row whatever its shape. Columns that were seen before keep their places, unless the row
// has many holes.
bool RowReader::rebuild(std::size_t row, Example& example, std::vector<std::uint32_t>& empty) {
  tile_.repeats = false;
  tile_.rebuilt = true;
  const auto read = [&](bool keep_places) {
    tile_.present.clear();
    tile_.left_out.clear();
    tile_.empty_groups.clear();
    tile_.holes = 0;
    return tile_.all_numbers ? read_numbers(row, keep_places, example)
                             : read_cells(row, keep_places, example);
  };
  bool finite = read(row >= tile_.fixed_from);
  if (has_many_holes()) {
    finite = read(false);
    tile_.fixed_from = row + tile_.pause;
    tile_.pause = std::min(2 * tile_.pause, kMostPause);
  }
  finite &= finish(row, example);
  derivation_.set_apart(example);
  example.order_runs(groups_, empty);
  tile_.fixed_shape = tile_.fixed_shape && !derivation_.has_given();
  add_given(row);
  for (const std::uint32_t group : tile_.empty_groups) {
    if (!derivation_.sets_apart(group)) empty.push_back(group);
  }
  return finite;
}

// A row of numbers alone. `keep_places`: columns that were seen before keep their places if they
// are 0 or empty. False if a number is not finite.
bool RowReader::read_numbers(std::size_t row, bool keep_places, Example& example) {
  example.clear();
  example.reserve(tile_.columns.size());
  const float* number = tile_.numbers.data() + (row - tile_.row);
  std::uint32_t* hashes = example.hashes.data();
  float* values = example.values.data();
  std::uint32_t column = 0;
  std::uint32_t n = 0;
  bool finite = true;
  for (const Bank::TablePart& part : tile_.table_parts) {
    const std::uint32_t begin = n;
    for (const std::uint32_t hash : part.hashes) {
      const bool there = is_there(*number);  // NaN: an empty cell
      const bool in_place = there || (keep_places && tile_.seen[column] != 0);
      hashes[n] = tile_.hash_of[column] = hash;
      values[n] = there ? *number : kAbsent;
      finite &= !is_infinite(*number);
      tile_.holes += keep_places && !there ? hole_cost(column, in_place) : 0;
      (in_place ? tile_.present : tile_.left_out).push_back(column);
      n += in_place ? 1U : 0U;
      number += kTileRows;
      ++column;
    }
    if (n > begin) {
      Run& run = example.runs.add();
      run.group = part.group;
      run.begin = begin;
      run.end = n;
    } else {
      tile_.empty_groups.push_back(part.group);
    }
  }
  example.hashes.set_size(n);
  example.values.set_size(n);
  if (centring_.on()) example.read.resize(n);
  write_reads(row, example);
  tile_.fixed_shape = keep_places;
  return finite;
}

// As read_numbers, for any columns.
bool RowReader::read_cells(std::size_t row, bool keep_places, Example& example) {
  example.clear();
  bool finite = true;
  bool one_each = true;
  const float* numbers = tile_.numbers.data() + (row - tile_.row);
  for (const auto& [part, begin] : keep_places ? tile_.parts_by_letter : tile_.parts) {
    std::uint32_t number = begin;
    example.open(part->group, groups_.letter(part->group));
    for (const Column& column : part->columns) {
      const Cell feature = cell(number, numbers[number * kTileRows], row);
      const bool there = is_there(feature.value);
      const bool in_place = feature.several || there || (keep_places && tile_.seen[number] != 0);
      if (feature.several) {
        append_cell(number, row, example);
        one_each = false;
      } else if (in_place) {
        if (there) tile_.hash_of[number] = feature.hash;
        example.add(tile_.hash_of[number], there ? feature.value : kAbsent);
        if (centring_.on()) {
          example.add_read(column.has_numbers() ? tile_.read[number * kTileRows + (row - tile_.row)]
                                                : read_cell(column, row));
        }
      }
      if (keep_places && !there && !feature.several) tile_.holes += hole_cost(number, in_place);
      finite &= !is_infinite(feature.value);
      (in_place ? tile_.present : tile_.left_out).push_back(number++);
    }
    example.close();
  }
  if (centring_.on()) example.add_reads();
  tile_.fixed_shape = one_each && keep_places;
  return finite;
}

void RowReader::add_given(std::size_t row) {
  for (const ColumnBlock::Part* part : tile_.given) {
    for (const Column& column : part->columns) {
      if (column.cell_of[row] < 0) continue;
      const auto cell = static_cast<std::size_t>(column.cell_of[row]);
      for (std::uint32_t i = column.starts[cell]; i < column.starts[cell + 1]; ++i) {
        derivation_.add_given(part->group, column.hashes[i], column.values[i]);
      }
    }
  }
}

std::size_t RowReader::bytes() const {
  std::size_t total = bytes_of(
      tile_.parts, tile_.parts_by_letter, tile_.given, tile_.columns, tile_.numbers, tile_.read,
      tile_.centres, tile_.late, tile_.cell_values, tile_.late_cells, tile_.table_parts, tile_.seen,
      tile_.hash_of, tile_.presence, tile_.present, tile_.left_out, tile_.empty_groups);
  for (const Bank::TablePart& part : tile_.table_parts) total += bytes_of(part.hashes);
  return total;
}

void RowReader::mark_learned() noexcept {
  if (!tile_.fixed_shape || !tile_.rebuilt) return;
  for (const std::uint32_t column : tile_.present) tile_.seen[column] = 1;
}

}  // namespace chacha
