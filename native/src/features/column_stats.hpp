// Statistics of a column, which is a feature of a raw group: what derived groups need of it.
// Twin: src/chacha/features/column_stats.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace chacha {

constexpr std::size_t kMostValues = 64;    // that one-hot coding distinguishes
constexpr std::size_t kOutside = 64;       // values beyond the knots that make a sample
constexpr std::size_t kOutsideShare = 20;  // N: to extend, 1 in N values must be outside
constexpr std::size_t kExtensions = 16;
constexpr std::size_t kEndKnots = 4;     // that an extension adds at an end, if there are
constexpr std::size_t kFewOutside = 16;  // values at least
// Few values: at most 1 in N of them occurs once, or they are evenly spaced, off their places by no
// more than a share of a step.
constexpr std::uint32_t kOnceShare = 4;
constexpr double kOff = 0x1p-10;
constexpr std::uint32_t kMostSteps = 365;  // of evenly spaced values

// A number as in the names of features, in any locale: the shortest text that gives the same float,
// or the same double if no float is equal.
std::string short_text(double value);
// Appends it; if the text has room for `kLongestNumber` more, no memory is needed.
constexpr std::size_t kLongestNumber = 24;
void append_short_text(std::string& text, double value);
// The position of the j-th of k knots among n sorted numbers; that of the same numbers with the
// other sign mirrors it.
inline std::size_t knot_position(std::size_t j, std::size_t k, std::size_t n) {
  if (2 * j >= k) return n - 1 - knot_position(k - 1 - j, k, n);
  return j * (n - 1) / (k - 1);
}

// The number of steps from the first to the last of sorted numbers that are all different: all lie
// a whole number of steps apart, and there are as few as possible. 0: they are not evenly spaced.
std::uint32_t steps_of(const double* first, const double* last) noexcept;

// 1 + the position of a value in a list without repetitions, or 0. Visits all, without a branch.
inline std::uint32_t find_value(const std::vector<double>& values, double value) {
  std::uint32_t position = 0;
  const auto count = static_cast<std::uint32_t>(values.size());
  const double* const at = values.data();
  for (std::uint32_t i = 0; i < count; ++i) position |= at[i] == value ? i + 1 : 0U;
  return position;
}

// Statistics of the first values, which later values extend. As long as there is room, nothing but
// `knots` throws. A column that is new in an example takes little memory, and room is made for a
// few values at a time.
class ColumnStats {
 public:
  // `first`: the number of values that the knots are made of.
  void begin(std::size_t first) { first_ = first; }
  // Makes room for so many values more. May throw, and changes nothing else.
  void make_room(std::size_t more);
  // The same for all values there may ever be.
  void reserve(std::size_t first) {
    begin(first);
    make_room(kAll);
  }
  // How many values there is room for, not counting those that need none.
  std::size_t room() const { return room_; }
  // Stores the first values in less memory, once they are complete. May throw, and changes nothing
  // that can be seen.
  void pack();
  // Counts a value. Needs room. True if the knots or the values have changed.
  bool observe(double value) noexcept;

  bool ready() const { return ready_; }
  bool numeric() const { return ready_ && distinct_ > 2; }
  // Whether there are few values: repeated ones, or evenly spaced ones.
  bool codes() const {
    const bool few = ready_ && distinct_ > 1 && distinct_ <= kMostValues;
    return few && (steps_ > 0 || kOnceShare * once_ <= distinct_);
  }
  std::uint32_t distinct() const { return distinct_; }
  // Between the least and the largest of few values that are evenly spaced; else 0.
  std::uint32_t steps() const { return steps_; }
  // The least, the largest and the median of the first values. Needs ready().
  double least() const { return least_; }
  double largest() const { return largest_; }
  double median() const { return median_; }

  // The distinct first values if there are at most k, else k quantiles of them, and the knots that
  // were added beyond. Sorted, without repetitions. Needs ready().
  std::vector<double> knots(std::size_t k) const;
  // The values that one-hot coding distinguishes, in order of appearance, if codes().
  const std::vector<double>& values() const { return values_; }
  std::size_t bytes() const;

 private:
  static constexpr std::size_t kAll = std::size_t{1} << 32;

  void take_room() noexcept { room_ -= room_ > 0 ? 1 : 0; }
  std::vector<double> sorted_sample() const;
  void finish_sample() noexcept;
  bool look_outside(double value) noexcept;
  bool extend() noexcept;
  void add_knots(const double* first, const double* last) noexcept;

  std::size_t first_ = 0;
  std::size_t room_ = 0;
  std::vector<double> sample_;         // the first values; sorted if ready_
  std::vector<unsigned char> packed_;  // the same, sorted, instead of sample_
  bool ready_ = false;
  std::uint32_t distinct_ = 0;
  std::uint32_t once_ = 0;  // distinct values that occur once
  std::uint32_t steps_ = 0;
  double least_ = 0.0, largest_ = 0.0, median_ = 0.0;
  double low_ = 0.0, high_ = 0.0;  // the outermost knots
  std::vector<double> further_;    // knots beyond those of the sample
  std::vector<double> outside_;    // every `stride_`-th value beyond the knots
  std::uint64_t outsiders_ = 0;    // values beyond the knots since the last look,
  std::uint64_t since_ = 0;        // and all values since then
  std::uint32_t stride_ = 1;
  std::uint32_t extensions_ = 0;
  std::vector<double> values_;
};

}  // namespace chacha
