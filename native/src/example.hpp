// One example: features by group, hashed, in VW's order; a label, a weight, an initial prediction.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "groups.hpp"

namespace chacha {

// The features [begin, end) of one group, next to each other. VW calls it an extent.
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
  std::string_view tag;               // into the text that was parsed
  std::vector<Run> runs;              // as they stand, empty ones too
  std::vector<std::uint32_t> hashes;  // of all features
  std::vector<float> values;

  void clear() {
    labelled = false;
    label = 0.0F;
    weight = 1.0F;
    initial = 0.0F;
    tag = {};
    runs.clear();
    hashes.clear();
    values.clear();
  }

  void open(std::uint32_t group) {
    const auto at = static_cast<std::uint32_t>(hashes.size());
    runs.push_back({group, at, at});
  }
  void add(std::uint32_t hash, float value) {
    hashes.push_back(hash);
    values.push_back(value);
  }
  void close() { runs.back().end = static_cast<std::uint32_t>(hashes.size()); }

  // Bring the runs into VW's order: those of one first letter together, letters in order of
  // appearance; empty runs are dropped, neighbours of one group are joined. `empty` receives the
  // groups of the dropped ones, which the stream has shown all the same.
  void settle(const Groups& groups, std::vector<std::uint32_t>& empty);

 private:
  void regroup(const Groups& groups);

  std::vector<Run> old_runs_;
  std::vector<std::uint32_t> old_hashes_;
  std::vector<float> old_values_;
};

}  // namespace chacha
