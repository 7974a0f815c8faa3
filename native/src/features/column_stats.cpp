#include "features/column_stats.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace chacha {

std::string short_text(float value) {
  char text[32];
  for (int digits = 6; digits <= 9; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if (static_cast<float>(std::strtod(text, nullptr)) == value) break;
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
  return {text, end};
}

void ColumnStats::make_room(std::size_t more) {
  const auto room = [more](std::vector<float>& all, std::size_t most) {
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

bool ColumnStats::observe(float value) noexcept {
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
  for (const float value : sample_) {
    whole_ = whole_ && std::floor(value) == value;
    if (values_.size() < kMostValues && find_value(values_, value) == 0) {
      values_.push_back(value);
    }
  }
  std::sort(sample_.begin(), sample_.end());
  distinct_ = 1;
  for (std::size_t i = 1; i < sample_.size(); ++i) {
    distinct_ += sample_[i] != sample_[i - 1] ? 1 : 0;
  }
  low_ = sample_.front();
  high_ = sample_.back();
  ready_ = true;
  if (!codes()) values_ = std::vector<float>();  // they are not asked for
}

bool ColumnStats::look_outside(float value) noexcept {
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
    const float* const first = outside_.data();
    const float* const last = first + outside_.size();
    const float* const below = std::lower_bound(first, last, low_);
    const float* const above = std::upper_bound(first, last, high_);
    add_knots(first, below);
    add_knots(above, last);
    ++extensions_;
    stride_ *= 2;
  }
  outside_.clear();
  outsiders_ = since_ = 0;
  return common;
}

void ColumnStats::add_knots(const float* first, const float* last) noexcept {
  const auto count = static_cast<std::size_t>(last - first);
  if (count < kFewOutside) return;
  for (std::size_t j = 0; j < kEndKnots; ++j) {
    const float knot = first[j * (count - 1) / (kEndKnots - 1)];
    further_.push_back(knot);
    low_ = std::min(low_, knot);
    high_ = std::max(high_, knot);
  }
}

std::vector<float> ColumnStats::knots(std::size_t k) const {
  std::vector<float> knots;
  if (distinct_ <= k) {
    knots = sample_;
  } else {
    for (std::size_t j = 0; j < k; ++j) {
      knots.push_back(sample_[j * (sample_.size() - 1) / (k - 1)]);
    }
  }
  knots.insert(knots.end(), further_.begin(), further_.end());
  std::sort(knots.begin(), knots.end());
  knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
  return knots;
}

std::size_t ColumnStats::bytes() const {
  const std::size_t floats =
      sample_.capacity() + further_.capacity() + outside_.capacity() + values_.capacity();
  return floats * sizeof(float);
}

}  // namespace chacha
