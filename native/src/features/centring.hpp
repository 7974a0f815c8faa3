// Numeric columns, less their centre and in units of their scale, both as the first rows show them.
// Twin: src/chacha/features/centring.py; expressions keep its order, so the bits are the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/index_map.hpp"
#include "data/example.hpp"

namespace chacha {

// How a column is learned: (x - centre)·inverse.
struct Centre {
  double centre = 0.0;
  double inverse = 1.0;  // of the scale; 0: the column had no number yet, and is left out

  // Always finite: a number beyond the range of floats is the largest.
  float of(double x) const {
    constexpr double kMost = std::numeric_limits<float>::max();
    return static_cast<float>(std::min(std::max((x - centre) * inverse, -kMost), kMost));
  }
};

// A column is centred if each of the first rows has it, with a number or an empty cell. Others stay
// as they are: what is left out of a row counts as 0, and must go on to do so.
class Centring {
 public:
  // Numeric columns are centred from now on; to be called before the first example.
  void turn_on() { on_ = true; }
  bool on() const { return on_; }
  // Whether a row has shown centres; before that, any number counts as 1.
  bool knows_centres() const { return rows_ > 0 || !on_; }

  // Return how a column is learned.
  Centre of(std::uint32_t group, std::uint32_t hash) const;
  // Centre the numbers of an example, and leave out those that are at the centre or missing. Those
  // that are the first of their column become its late ones.
  void apply(Example& example) const;

  // Make room, so that `observe` does not throw.
  void prepare(const Example& example);
  // Count one of the first rows, with all its cells.
  void observe(const Example& example) noexcept;
  // Find the centres anew from the rows so far.
  void fit();
  // Keep the centres for good; later rows do not count. A column that had no number is left out
  // until it has one,
  void finish() noexcept;
  // which is its centre from then on: its scale is not known.
  void settle(const std::vector<NumberCell>& late) noexcept;

  // Changes when the centres may have changed.
  std::uint64_t version() const { return version_; }
  std::size_t size() const { return columns_.size(); }
  struct View {
    std::uint32_t group, hash;
    Centre centre;
  };
  std::vector<View> columns() const;
  std::size_t bytes() const;

 private:
  struct Column {
    std::uint32_t group, hash;
    std::uint32_t given = 0;     // rows that have it
    std::vector<double> sample;  // its numbers in the first rows
    Centre centre;
  };
  static constexpr std::uint32_t kNone = 0xffffffffU;

  std::uint32_t find(std::uint32_t group, std::uint32_t hash) const;
  void add(std::uint32_t group, std::uint32_t hash);

  bool on_ = false, finished_ = false;
  std::uint32_t rows_ = 0;
  std::uint64_t version_ = 0;
  std::vector<Column> columns_;
  std::vector<std::uint32_t> table_;  // open addressing by hash: 1 + the column; 0: free
};

}  // namespace chacha
