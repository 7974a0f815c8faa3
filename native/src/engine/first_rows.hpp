// The first rows of a stream. They show the scale of the labels and the centres of the columns, and
// are learned again, from the beginning, each time these are estimated anew. If all labels are
// equal, those from the first that differs on show the scale.
// Twin: src/chacha/drivers/first_rows.py
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/pod.hpp"
#include "data/example.hpp"

namespace chacha {

class FirstRows {
 public:
  static constexpr std::size_t kMostFeatures = std::size_t{1} << 18;  // that are kept

  // A row with all cells that it was read with, and the derived groups that were learned with it.
  struct Row {
    Example full;
    Pod<Run> runs;  // of derived groups; they begin with feature 0
    Pod<std::uint32_t> hashes;
    Pod<float> values;
  };

  // Keeps the first `rows` rows, or as many as `kMostFeatures` allow.
  explicit FirstRows(std::size_t rows) : limit_(rows) {}

  // The next row, before numbers are centred.
  Example& full() { return full_; }
  // Keep a copy of it, and of the derived groups of what is learned. May throw; the row counts once
  // `add` is called.
  void prepare(const Example& learned);
  void add() noexcept;

  std::size_t size() const { return count_; }
  const Row& row(std::size_t i) const { return rows_[i]; }
  // Whether there are enough rows to estimate from anew: 1, 2, 4, ... or all of them.
  bool is_due() const { return (count_ & (count_ - 1)) == 0 || is_full(); }
  bool is_full() const { return count_ >= limit_ || features_ >= kMostFeatures; }
  // All labels were equal: forget the rows, and wait for one that shows the scale.
  void wait() noexcept;
  bool is_waiting() const { return waiting_; }
  std::size_t bytes() const;

 private:
  std::size_t limit_;
  bool waiting_ = false;
  std::size_t count_ = 0;  // rows that were learned
  std::size_t features_ = 0;
  Example full_;
  std::vector<Row> rows_;
};

}  // namespace chacha
