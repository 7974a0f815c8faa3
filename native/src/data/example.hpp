// One example: hashed features by group in VW's order, a label, a weight, an initial prediction.
#pragma once

#include <array>
#include <cstdint>
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

struct Example {
  bool labelled = false;
  float label = 0.0F;
  float weight = 1.0F;
  float initial = 0.0F;
  std::string_view tag;       // part of the text that was parsed
  Pod<Run> runs;              // including empty ones, before order_runs
  Pod<std::uint32_t> hashes;  // of all features
  Pod<float> values;

  // Derived groups come after the raw ones.
  std::size_t raw_runs() const { return derived_ ? raw_runs_ : runs.size(); }
  std::size_t raw_features() const { return derived_ ? raw_features_ : hashes.size(); }
  bool has_derived() const { return runs.size() > raw_runs(); }
  void begin_derived() {
    derived_ = true;
    raw_runs_ = runs.size();
    raw_features_ = hashes.size();
  }
  void drop_derived() {
    runs.resize(raw_runs());
    hashes.resize(raw_features());
    values.resize(raw_features());
    derived_ = false;
  }

  void clear() {
    derived_ = false;
    ordered_ = true;
    letters_ = {};
    labelled = false;
    label = 0.0F;
    weight = 1.0F;
    initial = 0.0F;
    tag = {};
    runs.clear();
    hashes.clear();
    values.clear();
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
    return bytes_of(runs, hashes, values, old_runs_, old_hashes_, old_values_);
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
};

}  // namespace chacha
