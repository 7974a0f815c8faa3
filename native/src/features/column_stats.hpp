// One column of the stream: a feature of a raw group, and what derived groups must know of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace chacha {

constexpr std::size_t kMostValues = 64;    // of a column, that one-hot tells apart
constexpr std::size_t kOutside = 64;       // values beyond the knots that are looked at together
constexpr std::size_t kOutsideShare = 20;  // one value of so many must be outside, to extend
constexpr std::size_t kExtensions = 16;
constexpr std::size_t kEndKnots = 4;       // that an extension adds at an end, if there are
constexpr std::size_t kFewOutside = 16;    // values there, at least

// A number as names have it: as short as it can be and be read back exactly, whatever the locale.
std::string short_text(float value);

// 1 + where a value stands among some that differ, or 0. Looks at all of them, without a branch.
inline std::uint32_t find_value(const std::vector<float>& values, float value) {
  std::uint32_t found = 0;
  const auto count = static_cast<std::uint32_t>(values.size());
  const float* const at = values.data();
  for (std::uint32_t i = 0; i < count; ++i) found |= at[i] == value ? i + 1 : 0U;
  return found;
}

// What the first values tell, and how later ones extend it. Nothing here throws once `reserve`
// was called, but `knots`.
class ColumnStats {
 public:
  void reserve(std::size_t first);
  // Takes in a value. True if the knots or the values that are known have changed.
  bool observe(float value) noexcept;

  bool ready() const { return ready_; }
  bool numeric() const { return ready_ && distinct_ > 2; }
  bool codes() const { return ready_ && whole_ && distinct_ > 1 && distinct_ <= kMostValues; }
  bool whole() const { return whole_; }
  std::uint32_t distinct() const { return distinct_; }
  // The least, the largest and the median of the first values, once it is ready.
  float least() const { return sample_.front(); }
  float largest() const { return sample_.back(); }
  float median() const { return sample_[sample_.size() / 2]; }

  // Once it is ready: all values of the first ones if they are at most k, else k quantiles; and
  // what was added beyond them. Sorted, without repetition.
  std::vector<float> knots(std::size_t k) const;
  // The values that one-hot tells apart, in the order of their appearance; of codes.
  const std::vector<float>& values() const { return values_; }
  std::size_t bytes() const;

 private:
  void begin() noexcept;
  bool look_outside(float value) noexcept;
  bool extend() noexcept;
  void add_knots(const float* first, const float* last) noexcept;

  std::size_t first_ = 0;
  std::vector<float> sample_;  // the first values; sorted once there are enough
  bool ready_ = false;
  bool whole_ = true;
  std::uint32_t distinct_ = 0;
  float low_ = 0.0F, high_ = 0.0F;  // the outermost knots
  std::vector<float> further_;   // knots beyond the first ones
  std::vector<float> outside_;   // one of every `stride_` values beyond the knots
  std::uint64_t outsiders_ = 0;  // how many there were since they were looked at last,
  std::uint64_t since_ = 0;      // of so many values
  std::uint32_t stride_ = 1;
  std::uint32_t extensions_ = 0;
  std::vector<float> values_;
};

}  // namespace chacha
