#include "features/column_stats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"

namespace chacha {
namespace {

constexpr unsigned kPackedBits = 7;  // in a byte
constexpr std::uint32_t kLowBits = 0x7f;
constexpr std::uint32_t kHighBit = 0x80;  // another byte follows
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

// A whole number for each double, in the order of the doubles; -0 comes before 0.
std::uint64_t ordered(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

double from_ordered(std::uint64_t number) {
  const std::uint64_t bits = (number & kSign) != 0 ? number & ~kSign : ~number;
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

bool is_whole(double steps) {
  const double nearest = std::floor(steps + 0.5);
  return nearest > 0.0 && std::fabs(steps - nearest) <= kOff;
}

}  // namespace

std::uint32_t steps_of(const double* first, const double* last) noexcept {
  if (last - first < 2) return 0;
  const double span = last[-1] - *first;
  const auto fits = [&](double steps) {
    for (const double* at = first + 1; at != last; ++at) {
      if (!is_whole((*at - at[-1]) / span * steps)) return false;
    }
    return true;
  };
  for (auto steps = static_cast<std::uint32_t>(last - first - 1); steps <= kMostSteps; ++steps) {
    if (fits(steps)) return steps;
  }
  return 0;
}

std::string short_text(double value) {
  std::string text;
  append_short_text(text, value);
  return text;
}

void append_short_text(std::string& all, double value) {
  char text[32];
  const bool single = static_cast<double>(static_cast<float>(value)) == value;
  for (int digits = 6; digits <= (single ? 9 : 17); ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    const double read = std::strtod(text, nullptr);
    if (read == value || (single && static_cast<float>(read) == static_cast<float>(value))) break;
  }
  // Any other character belongs to the locale's decimal point, of one or more bytes.
  char* end = text;
  for (const char* at = text; *at != '\0'; ++at) {
    if (std::strchr("0123456789+-e", *at) != nullptr) {
      *end++ = *at;
    } else if (end == text || end[-1] != '.') {
      *end++ = '.';
    }
  }
  all.append(text, end);
}

void ColumnStats::make_room(std::size_t more) {
  const auto room = [more](std::vector<double>& all, std::size_t most) {
    all.reserve(std::min(most, all.size() + more));
  };
  if (!ready_) room(sample_, first_);
  if (ready_ || sample_.size() + more >= first_) {
    room(outside_, kOutside);
    const std::size_t knots = (outside_.size() + more) / kOutside * 2 * kEndKnots;
    further_.reserve(std::min(kExtensions * 2 * kEndKnots, further_.size() + knots));
    if (!ready_) {
      values_.reserve(kMostValues);
    } else if (codes()) {
      room(values_, kMostValues);
    }
  }
  room_ = more;
}

bool ColumnStats::observe(double value) noexcept {
  if (!ready_) {
    sample_.push_back(value);
    take_room();
    if (sample_.size() < first_) return false;
    finish_sample();
    return true;
  }
  bool changed = look_outside(value);
  if (codes() && values_.size() < kMostValues && find_value(values_, value) == 0) {
    values_.push_back(value);
    take_room();
    changed = true;
  }
  return changed;
}

void ColumnStats::finish_sample() noexcept {
  for (const double value : sample_) {
    if (values_.size() < kMostValues && find_value(values_, value) == 0) {
      values_.push_back(value);
    }
  }
  std::sort(sample_.begin(), sample_.end());
  std::array<double, kMostValues> few = {sample_.front()};
  distinct_ = 1;
  bool again = false;
  for (std::size_t i = 1; i < sample_.size(); ++i) {
    if (sample_[i] == sample_[i - 1]) {
      again = true;
      continue;
    }
    once_ += again ? 0 : 1;
    again = false;
    if (distinct_ < few.size()) few[distinct_] = sample_[i];
    ++distinct_;
  }
  once_ += again ? 0 : 1;
  if (distinct_ <= few.size()) steps_ = steps_of(few.data(), few.data() + distinct_);
  low_ = least_ = sample_.front();
  high_ = largest_ = sample_.back();
  median_ = sample_[sample_.size() / 2];
  ready_ = true;
  if (!codes()) values_ = std::vector<double>();  // they are not asked for
}

bool ColumnStats::look_outside(double value) noexcept {
  ++since_;
  if (value >= low_ && value <= high_) return false;
  if (extensions_ == kExtensions) return false;
  if (outsiders_++ % stride_ == 0) {
    outside_.push_back(value);
    take_room();
  }
  return outside_.size() == kOutside && extend();
}

// Adds knots where values lie beyond the present ones, unless such values are rare. The next
// extension needs twice as many, so that a column that keeps growing gets few knots.
bool ColumnStats::extend() noexcept {
  const bool common = outsiders_ * kOutsideShare >= since_;
  if (common) {
    std::sort(outside_.begin(), outside_.end());
    const double* const first = outside_.data();
    const double* const last = first + outside_.size();
    const double* const below = std::lower_bound(first, last, low_);
    const double* const above = std::upper_bound(first, last, high_);
    add_knots(first, below);
    add_knots(above, last);
    ++extensions_;
    stride_ *= 2;
  }
  outside_.clear();
  outsiders_ = since_ = 0;
  return common;
}

void ColumnStats::add_knots(const double* first, const double* last) noexcept {
  const auto count = static_cast<std::size_t>(last - first);
  if (count < kFewOutside) return;
  for (std::size_t j = 0; j < kEndKnots; ++j) {
    const double knot = first[knot_position(j, kEndKnots, count)];
    further_.push_back(knot);
    low_ = std::min(low_, knot);
    high_ = std::max(high_, knot);
  }
}

// Sorted numbers differ little, as whole numbers of the same order: what is stored are differences,
// each in as many groups of 7 bits as it needs.
void ColumnStats::pack() {
  if (!ready_ || sample_.empty()) return;
  std::vector<unsigned char> packed;
  packed.reserve(sample_.size() * sizeof(double));
  std::uint64_t last = 0;
  for (const double value : sample_) {
    const std::uint64_t number = ordered(value);
    std::uint64_t more = number - last;
    for (; more > kLowBits; more >>= kPackedBits) {
      packed.push_back(static_cast<unsigned char>(more | kHighBit));
    }
    packed.push_back(static_cast<unsigned char>(more));
    last = number;
  }
  packed.shrink_to_fit();
  packed_ = std::move(packed);
  sample_ = std::vector<double>();
}

std::vector<double> ColumnStats::sorted_sample() const {
  if (packed_.empty()) return sample_;
  std::vector<double> sample;
  sample.reserve(first_);
  std::uint64_t number = 0;
  std::uint64_t more = 0;
  unsigned shift = 0;
  for (const unsigned char byte : packed_) {
    more |= std::uint64_t{byte & kLowBits} << shift;
    shift += kPackedBits;
    if (byte > kLowBits) continue;
    number += more;
    more = 0;
    shift = 0;
    sample.push_back(from_ordered(number));
  }
  return sample;
}

std::vector<double> ColumnStats::knots(std::size_t k) const {
  const std::vector<double> sample = sorted_sample();
  std::vector<double> knots;
  if (distinct_ <= k) {
    knots = sample;
  } else {
    for (std::size_t j = 0; j < k; ++j) {
      knots.push_back(sample[knot_position(j, k, sample.size())]);
    }
  }
  knots.insert(knots.end(), further_.begin(), further_.end());
  std::sort(knots.begin(), knots.end());
  knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
  return knots;
}

std::size_t ColumnStats::bytes() const {
  return bytes_of(sample_, packed_, further_, outside_, values_);
}

}  // namespace chacha
