#include "vw/numbers.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <system_error>

#include "vw/hashing.hpp"

namespace chacha {
namespace {

constexpr int kExact = 7;          // digits that are summed without rounding
constexpr int kMostDecimals = 35;  // VW ignores further ones
constexpr int kMostExponent = 9;   // digits of an exponent

// Powers of ten as VW builds them: by repeated float multiplication and division.
struct Powers {
  std::array<float, 39> up{};
  std::array<float, 38> down{};
  Powers() {
    float power = 1.0F;
    for (float& p : up) {
      p = power;
      power *= 10.0F;
    }
    power = 1.0F;
    for (float& p : down) {
      p = power;
      power /= 10.0F;
    }
  }
  float of(int exponent) const {
    const auto e = static_cast<std::int8_t>(exponent);  // VW keeps the exponent in one byte
    if (e > 38) return std::numeric_limits<float>::infinity();
    if (e < -37) return 0.0F;
    return e >= 0 ? up[static_cast<std::size_t>(e)] : down[static_cast<std::size_t>(-e)];
  }
};

const Powers kPowers;

struct Cursor {
  const char* p;
  const char* end;
  bool at(char c) const { return p < end && *p == c; }
  bool digit() const { return p < end && is_digit(*p); }
};

std::string_view digits(Cursor& at) {
  const char* begin = at.p;
  while (at.digit()) ++at.p;
  return {begin, static_cast<std::size_t>(at.p - begin)};
}

// VW's exact expressions: (10·acc + '7') − '0' before the point, 10·acc + 7 after it.
float accumulate(std::string_view whole, std::string_view decimals) {
  std::uint32_t exact = 0;
  int n = 0;
  std::size_t i = 0;
  for (; i < whole.size() && n < kExact; ++i, ++n)
    exact = exact * 10 + static_cast<std::uint32_t>(whole[i] - '0');
  std::size_t j = 0;
  for (; j < decimals.size() && n < kExact; ++j, ++n)
    exact = exact * 10 + static_cast<std::uint32_t>(decimals[j] - '0');
  auto acc = static_cast<float>(exact);
  for (; i < whole.size(); ++i)
    acc = acc * 10.0F + static_cast<float>(whole[i]) - static_cast<float>('0');
  for (; j < decimals.size(); ++j) acc = acc * 10.0F + static_cast<float>(decimals[j] - '0');
  return acc;
}

float parse_whole(const std::string& text, float /*type*/) {
  return std::strtof(text.c_str(), nullptr);
}
double parse_whole(const std::string& text, double /*type*/) {
  return std::strtod(text.c_str(), nullptr);
}

// Return what the C library's strtof or strtod reads, if it reads the whole text.
template <class Float>
std::optional<Float> strto_whole(std::string_view text) {
  Cursor at{text.data(), text.data() + text.size()};
  const bool negative = at.at('-');
  if (negative || at.at('+')) ++at.p;
  const char* begin = at.p;
  const std::size_t before = digits(at).size();
  std::size_t after = 0;
  if (at.at('.')) {
    ++at.p;
    after = digits(at).size();
  }
  if (before + after == 0) return std::nullopt;
  if (at.at('e') || at.at('E')) {
    ++at.p;
    if (at.at('-') || at.at('+')) ++at.p;
    if (digits(at).empty()) return std::nullopt;
  }
  if (at.p != at.end) return std::nullopt;
  Float value = 0;
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
  const auto result = std::from_chars(begin, at.end, value);
  if (result.ec == std::errc::result_out_of_range)
    value = parse_whole(std::string(begin, at.end), value);
#else
  value = parse_whole(std::string(begin, at.end), value);
#endif
  return negative ? -value : value;
}

bool begins(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if ((text[i] | 0x20) != word[i]) return false;
  }
  return true;
}

Read word_or_unclear(std::string_view text) {
  if (text.front() == '+' || text.front() == '-') text.remove_prefix(1);
  if (text.empty()) return Read::kWord;
  if (is_digit(text.front())) return Read::kUnclear;
  if (text.front() == '.' && text.size() > 1 && is_digit(text[1])) return Read::kUnclear;
  return begins(text, "inf") || begins(text, "nan") ? Read::kUnclear : Read::kWord;
}

}  // namespace

float nearest(std::string_view text) { return strto_whole<float>(text).value_or(0.0F); }

double nearest_double(std::string_view text) {
  const auto value = strto_whole<double>(text);
  constexpr double kMost = std::numeric_limits<float>::max();
  if (value && std::fabs(*value) <= kMost) return *value;
  return static_cast<double>(read_number(text).value);
}

Number read_number(std::string_view text) {
  Cursor at{text.data(), text.data() + text.size()};
  const bool negative = at.at('-');
  if (negative) ++at.p;
  const std::string_view whole = digits(at);
  std::string_view decimals;
  if (at.at('.')) {
    ++at.p;
    decimals = digits(at);
    if (decimals.size() > kMostDecimals) decimals = decimals.substr(0, kMostDecimals);
  }
  int exponent = 0;
  if (at.p < at.end && (*at.p == 'e' || *at.p == 'E')) {
    ++at.p;
    const bool down = at.at('-');
    if (down) ++at.p;
    const std::string_view power = digits(at);
    if (at.p == at.end && power.size() > kMostExponent) return {Read::kUnclear, 0.0F};
    for (char c : power.substr(0, kMostExponent)) exponent = exponent * 10 + (c - '0');
    if (down) exponent = -exponent;
  }
  if (at.p == at.end) {
    const float value =
        accumulate(whole, decimals) * kPowers.of(exponent - static_cast<int>(decimals.size()));
    return {Read::kNumber, negative ? -value : value};
  }
  if (const auto value = strto_whole<float>(text)) return {Read::kNumber, *value};
  return {word_or_unclear(text), 0.0F};
}

}  // namespace chacha
