// One example: hashed features by group in VW's order, a label, a weight, an initial prediction.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/pod.hpp"
#include "data/absent.hpp"
#include "data/groups.hpp"

namespace chacha {

// Neighbouring features [begin, end) of one group; VW calls it an extent.
struct Run {
  std::uint32_t group;
  std::uint32_t begin;
  std::uint32_t end;
};

// What a feature was read as, beside its value: a number in double precision, nothing (an empty
// cell of a column of numbers), or words, of which only the value is known.
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kWords = std::numeric_limits<double>::infinity();
inline bool is_words(double read) { return read == kWords; }
inline bool is_number(double read) { return read < kWords && read == read; }

// A number of a row: its position among the features of its group, and what it was read as.
struct NumberCell {
  std::uint32_t group, position, hash;
  double number;
};

struct Example {
  bool labelled = false;
  float label = 0.0F;   // as VW reads it
  double target = 0.0;  // the label as it was given, for models that learn it on another scale
  float weight = 1.0F;
  float initial = 0.0F;
  double base = 0.0;     // the initial prediction, where models learn what the label adds to it
  std::string_view tag;  // part of the text that was parsed
  Pod<Run> runs;         // including empty ones, before order_runs
  Pod<std::uint32_t> hashes;  // of all features
  Pod<float> values;
  Pod<double> read;              // of all raw features, or of none
  std::vector<NumberCell> late;  // numbers that show what the first rows did not show of a column

  // What a raw feature is before it is centred; within the range of floats.
  double as_read(std::size_t i) const {
    const bool number = !read.empty() && is_number(read[i]);
    return number ? read[i] + 0.0 : static_cast<double>(values[i]);  // -0 is 0
  }
  // A number of a table or a dict; also if it is 0 or missing.
  void add_number(std::uint32_t hash, double number) {
    add(hash, number == number ? static_cast<float>(number) : kAbsent);
    add_read(number);
  }
  // What the last feature was read as.
  void add_read(double number) {
    add_reads();
    read.back() = number;
  }
  // Features that were added without a number are words.
  void add_reads() {
    while (read.size() < hashes.size()) read.push_back(kWords);
  }
  // Completes a row of a table or a dict that was read as text. Of a group, the cells come in the
  // order of their positions; those that are 0 or missing are not in the text.
  void insert_numbers(const std::vector<NumberCell>& cells);
  // Drops features from the end; the runs have been shortened accordingly.
  void shrink(std::size_t features) {
    hashes.resize(features);
    values.resize(features);
    read.resize(features);
    ordered_ = false;  // there may be an empty run
  }

  // Derived groups come after the raw ones.
  std::size_t raw_runs() const { return derived_ ? raw_runs_ : runs.size(); }
  std::size_t raw_features() const { return derived_ ? raw_features_ : hashes.size(); }
  bool has_derived() const { return runs.size() > raw_runs(); }
  void begin_derived() {
    derived_ = true;
    raw_runs_ = runs.size();
    raw_features_ = hashes.size();
  }
  // Derived groups that were made before; the runs begin with feature 0.
  void append_derived(const Pod<Run>& more, const Pod<std::uint32_t>& more_hashes,
                      const Pod<float>& more_values) {
    begin_derived();
    const auto offset = static_cast<std::uint32_t>(hashes.size());
    for (const Run& run : more) {
      runs.push_back({run.group, run.begin + offset, run.end + offset});
    }
    hashes.append(more_hashes.begin(), more_hashes.end());
    values.append(more_values.begin(), more_values.end());
  }
  void drop_derived() {
    runs.resize(raw_runs());
    hashes.resize(raw_features());
    values.resize(raw_features());
    derived_ = false;
  }

  void set_label(double y) {
    labelled = true;
    label = static_cast<float>(y);
    target = y;
  }

  void clear() {
    derived_ = false;
    ordered_ = true;
    letters_ = {};
    labelled = false;
    label = 0.0F;
    target = 0.0;
    weight = 1.0F;
    initial = 0.0F;
    base = 0.0;
    tag = {};
    runs.clear();
    hashes.clear();
    values.clear();
    read.clear();
    late.clear();
  }

  void open(std::uint32_t group, unsigned char letter) {
    std::uint64_t& word = letters_[letter >> 6];
    const std::uint64_t bit = std::uint64_t{1} << (letter & 63U);
    ordered_ &= (word & bit) == 0;
    word |= bit;
    Run& run = runs.add();  // field by field: a combined write would stall later reads
    run.group = group;
    run.begin = run.end = static_cast<std::uint32_t>(hashes.size());
  }
  // Without a branch, which would be hard to predict. Needs room for one more feature.
  void add_unless_zero(std::uint32_t hash, float value) {
    hashes.put(hash);
    values.put(value);
    const std::size_t size = hashes.size() + (value != 0.0F ? 1 : 0);
    hashes.set_size(size);
    values.set_size(size);
  }
  void add(std::uint32_t hash, float value) {
    hashes.push_back(hash);
    values.push_back(value);
  }
  void reserve(std::size_t more) {
    hashes.reserve(hashes.size() + more);
    values.reserve(values.size() + more);
  }
  void close() {
    Run& run = runs.back();
    run.end = static_cast<std::uint32_t>(hashes.size());
    ordered_ &= run.begin < run.end;
  }

  // The memory beside the object itself.
  std::size_t bytes() const {
    return bytes_of(runs, hashes, values, read, late, old_runs_, old_hashes_, old_values_,
                    old_read_);
  }

  // Brings the runs into VW's order: groups of one first letter together, letters in order of
  // appearance. Drops empty runs and joins neighbours of one group. `empty` receives the groups of
  // dropped runs, which count as groups of the stream all the same.
  void order_runs(const Groups& groups, std::vector<std::uint32_t>& empty) {
    empty.clear();
    if (!ordered_) drop_empty_runs(groups, empty);
  }

 private:
  void drop_empty_runs(const Groups& groups, std::vector<std::uint32_t>& empty);
  void regroup(const Groups& groups);

  bool derived_ = false;
  std::size_t raw_runs_ = 0, raw_features_ = 0;
  bool ordered_ = true;  // as long as every run has another letter, and a feature
  std::array<std::uint64_t, 4> letters_{};

  Pod<Run> old_runs_;
  Pod<std::uint32_t> old_hashes_;
  Pod<float> old_values_;
  Pod<double> old_read_;
};

}  // namespace chacha
