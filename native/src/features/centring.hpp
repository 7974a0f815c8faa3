// Numeric columns, less their centre and in units of their scale, both as the first rows show them.
// Twin: src/chacha/features/centring.py; expressions keep its order, so the bits are the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/index_map.hpp"
#include "data/example.hpp"

namespace chacha {

// How a column is learned: (x - centre)·inverse.
struct Centre {
  // Numbers that differ by less, in units of the column or of its scale, are equal as floats.
  static constexpr double kLeast = 0x1p-126;

  double centre = 0.0;
  double inverse = 1.0;  // of the scale; infinite: all numbers were equal so far, and any other is
                         // 1 or -1; 0: the column had no number yet, and is left out

  // Always finite: a number beyond the range of floats is the largest. NaN stays what it is.
  float of(double x) const {
    if (std::isinf(inverse)) {
      const double apart = x - centre;
      if (is_absent(static_cast<float>(apart))) return kAbsent;
      return std::fabs(apart) > kLeast ? static_cast<float>(std::copysign(1.0, apart)) : 0.0F;
    }
    return known_of(x);
  }
  // The same, if the inverse is finite.
  float known_of(double x) const {
    constexpr double kMost = std::numeric_limits<float>::max();
    return static_cast<float>(std::min(std::max((x - centre) * inverse, -kMost), kMost));
  }
  // Whether the first rows have not shown all of it,
  bool waits() const { return inverse == 0.0 || std::isinf(inverse); }
  // whether a number shows what is missing,
  bool waits_for(double x) const {
    return inverse == 0.0 ? x == x : std::isinf(inverse) && is_there(of(x));
  }
  // and what it shows: the centre if there was no number, otherwise the scale.
  Centre found(double x) const {
    if (!waits_for(x)) return *this;
    return inverse == 0.0 ? Centre{x, std::numeric_limits<double>::infinity()}
                          : Centre{centre, 1.0 / std::fabs(x - centre)};
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
  // that a column waits for become the late ones of the example.
  void apply(Example& example) const;

  // Make room, so that `observe` does not throw.
  void prepare(const Example& example);
  // Count one of the first rows, with all its cells.
  void observe(const Example& example) noexcept;
  // Find the centres anew from the rows so far.
  void fit();
  // Keep the centres for good; later rows show only what is missing:
  void finish() noexcept;
  // the centre of a column that had no number, the scale of one whose numbers were all equal.
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
