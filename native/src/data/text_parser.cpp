#include "data/text_parser.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "vw/numbers.hpp"

namespace chacha {
namespace {

constexpr std::size_t kMostFeatures = 0xfffffff0U;

// Reads a finite number; false if the text is none. VW reads an empty text as 0.
bool read_finite(std::string_view text, float& value) {
  const Number number = read_number(text);
  value = number.value;
  return number.read == Read::kNumber && std::isfinite(value);
}

// For short numbers, the common case: 10^k, and 10^-k by repeated division, as in VW.
constexpr int kMostShort = 9;  // digits
struct Powers {
  float tens[kMostShort + 1];
  float tenths[kMostShort + 1];
  constexpr Powers() : tens{}, tenths{} {
    float ten = 1.0F;
    float tenth = 1.0F;
    for (int k = 0; k <= kMostShort; ++k, ten *= 10.0F, tenth /= 10.0F) {
      tens[k] = ten;
      tenths[k] = tenth;
    }
  }
};
constexpr Powers kPowers;
constexpr std::uint32_t kExact = 16777000;  // VW accumulates smaller numbers without rounding

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Eight bytes at once. The lowest marked byte is always right; those above it may be false.
constexpr int kWord = 8;
constexpr std::uint64_t kOnes = 0x0101010101010101U;
constexpr std::uint64_t kHighs = 0x8080808080808080U;
inline std::uint64_t bytes_below(std::uint64_t bytes, std::uint64_t bound) {
  return (bytes - kOnes * bound) & ~bytes & kHighs;
}
inline std::uint64_t bytes_equal(std::uint64_t bytes, char c) {
  return bytes_below(bytes ^ (kOnes * static_cast<unsigned char>(c)), 1);
}
inline int length_to(std::uint64_t marks) {
  return marks == 0 ? kWord : __builtin_ctzll(marks) / 8;
}

// Reads `-12.345` or `-12.345e+0` up to a blank or the end, if its digits are exact as a float;
// returns null for anything else. VW multiplies the first form by its 10^-3. It passes the second
// to strtof, which gives the nearest float, as one division of two exact floats does.
inline const char* read_short(const char* p, const char* end, float& value, std::uint32_t& digits,
                              std::size_t& decimals) {
  const bool negative = p < end && *p == '-';
  p += negative;
  digits = 0;
  unsigned d;
  const char* begin = p;
  while (p < end && (d = static_cast<unsigned char>(*p - '0')) < 10) {
    digits = digits * 10 + d;
    ++p;
  }
  auto count = static_cast<std::size_t>(p - begin);
  decimals = 0;
  if (p < end && *p == '.') {
    const char* point = ++p;
    while (p < end && (d = static_cast<unsigned char>(*p - '0')) < 10) {
      digits = digits * 10 + d;
      ++p;
    }
    decimals = static_cast<std::size_t>(p - point);
    count += decimals;
  }
  if (count == 0 || count > kMostShort || digits >= kExact) return nullptr;
  value = static_cast<float>(static_cast<std::int32_t>(digits));
  if (negative) value = -value;
  if (p < end && !is_blank(*p)) {
    if (end - p < 3 || std::memcmp(p, "e+0", 3) != 0) return nullptr;
    if (end - p > 3 && !is_blank(p[3])) return nullptr;
    value /= kPowers.tens[decimals];
    return p + 3;
  }
  value *= kPowers.tenths[decimals];
  return p;
}

inline const char* read_short(const char* p, const char* end, float& value) {
  std::uint32_t digits;
  std::size_t decimals;
  return read_short(p, end, value, digits, decimals);
}

constexpr double kTens[kMostShort + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

// Parses the text before the first bar.
bool parse_head(std::string_view head, Example& example) {
  if (head.empty()) return true;
  float value;
  const char* end = head.data() + head.size();
  std::uint32_t digits;
  std::size_t decimals;
  const char* p = read_short(head.data(), end, value, digits, decimals);
  if (p != nullptr && p + 1 == end && *p == ' ') {
    example.labelled = true;  // `label |`, by far the most common
    example.label = value;
    example.target = static_cast<double>(digits) / kTens[decimals];  // the nearest double
    if (head.front() == '-') example.target = -example.target;
    return true;
  }
  if (head.find('\t') != std::string_view::npos) return false;
  std::string_view words[5];
  std::size_t count = 0;
  for (std::size_t at = 0; at < head.size();) {
    if (head[at] == ' ') {
      ++at;
      continue;
    }
    const std::size_t stop = std::min(head.find(' ', at), head.size());
    if (count == 5) return false;
    words[count++] = head.substr(at, stop - at);
    at = stop;
  }
  if (count > 0 && (head.back() != ' ' || words[count - 1].front() == '\'')) {
    example.tag = words[--count];
    if (example.tag.front() == '\'') example.tag.remove_prefix(1);
  }
  if (count > 3) return false;
  if (count > 0) {
    example.labelled = true;
    if (!read_finite(words[0], example.label)) return false;
    example.target = nearest_double(words[0]);
  }
  if (count > 1 && !read_finite(words[1], example.weight)) return false;
  if (example.weight < 0.0F) return false;
  return count <= 2 || read_finite(words[2], example.initial);
}

class BodyParser {
 public:
  BodyParser(const char* p, const char* end, Groups& groups, Example& example)
      : p_(p), end_(end), groups_(groups), example_(example) {}

  bool parse() {
    while (p_ < end_) {
      ++p_;  // the bar
      if (!open_group()) return false;
      while (p_ < end_ && *p_ != '|') {
        if (is_blank(*p_)) {
          ++p_;
        } else if (!feature()) {
          return false;
        }
      }
      example_.close();
    }
    return example_.hashes.size() < kMostFeatures;
  }

 private:
  const char* word_end(const char* p) const {
    while (p < end_ && !is_blank(*p) && *p != '|') ++p;
    return p;
  }

  bool open_group() {
    scale_ = 1.0F;
    anonymous_ = 0;
    if (p_ == end_ || is_blank(*p_) || *p_ == '|') {
      const char name = kDefaultGroup;
      start(std::string_view(&name, 1));
      return true;
    }
    const char* stop = p_;
    while (stop < end_ && !is_blank(*stop) && *stop != '|' && *stop != ':') ++stop;
    const std::string_view name(p_, static_cast<std::size_t>(stop - p_));
    if (name.empty()) return false;
    if (stop < end_ && *stop == ':') {
      const char* after = word_end(stop + 1);
      const std::string_view weight(stop + 1, static_cast<std::size_t>(after - stop - 1));
      if (!read_finite(weight, scale_)) return false;
      stop = after;
    }
    start(name);
    p_ = stop;
    return true;
  }

  void start(std::string_view name) {
    const std::uint32_t number = groups_.number(name);
    seed_ = groups_.seed(number);
    example_.open(number, groups_.letter(number));
  }

  // Parses short words without a value, each followed by a blank, without a branch on their
  // lengths. Stops at anything else; false if there is no such word.
  bool short_words() {
    const char* p = p_;
    while (end_ - p >= kWord && scale_ != 0.0F && !is_digit(*p)) {
      std::uint64_t bytes;
      std::memcpy(&bytes, p, sizeof bytes);
      const int size = length_to(bytes_below(bytes, ' ' + 1) | bytes_equal(bytes, ':') |
                                 bytes_equal(bytes, '|'));
      if (size == 0 || size == kWord || !is_blank(p[size])) break;
      example_.reserve(1);
      example_.add_unless_zero(murmur_short(bytes, size, seed_), scale_);
      p += size + 1;
    }
    const bool some = p > p_;
    p_ = p;
    return some;
  }

  bool feature() {
    const char* name = p_;
    std::uint32_t integer = 0;
    unsigned d;
    while (p_ < end_ && (d = static_cast<unsigned char>(*p_ - '0')) < 10) {
      integer = integer * 10 + d;
      ++p_;
    }
    std::uint32_t hash;
    if (p_ > name && (p_ == end_ || *p_ == ':' || is_blank(*p_) || *p_ == '|')) {
      hash = integer + seed_;
    } else {
      if (p_ == name && short_words()) return true;
      while (p_ < end_ && *p_ != ':' && !is_blank(*p_) && *p_ != '|') ++p_;
      hash = hash_name({name, static_cast<std::size_t>(p_ - name)}, seed_);
    }
    if (p_ == end_ || *p_ != ':') return add(hash, 1.0F);
    const bool named = p_ > name;
    if (end_ - p_ > 1 && p_[1] == '0' && (end_ - p_ == 2 || is_blank(p_[2]))) {  // `:0` is dropped
      anonymous_ += named ? 0 : 1;
      p_ += 2;
      return true;
    }
    float value;
    if (const char* after = read_short(p_ + 1, end_, value); after != nullptr) {
      p_ = after;
      return add(named ? hash : seed_ + anonymous_++, value);
    }
    const char* stop = word_end(++p_);
    const std::string_view text(p_, static_cast<std::size_t>(stop - p_));
    p_ = stop;
    if (text.empty()) return false;
    const Number number = read_number(text);
    if (number.read == Read::kUnclear) return false;
    if (number.read == Read::kNumber) {
      return add(named ? hash : seed_ + anonymous_++, number.value);
    }
    if (p_ < end_ && *p_ == '|') return false;  // VW takes the bar as part of the word
    example_.add(hash_name(text, hash), 1.0F);
    return true;
  }

  bool add(std::uint32_t hash, float value) {
    value *= scale_;
    if (!std::isfinite(value)) return false;
    example_.reserve(1);
    example_.add_unless_zero(hash, value);
    return true;
  }

  const char* p_;
  const char* end_;
  Groups& groups_;
  Example& example_;
  std::uint32_t seed_ = 0;
  std::uint32_t anonymous_ = 0;
  float scale_ = 1.0F;
};

// Whether a line has a line break or a byte that is not ASCII.
bool has_odd_bytes(std::string_view line) {
  unsigned char odd = 0;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    odd |= static_cast<unsigned char>(byte & 0x80U);
    odd |= static_cast<unsigned char>(byte == '\r' || byte == '\n');
  }
  return odd != 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = p + text.size();
  auto tail = [&](int n) {
    for (; n > 0; --n, ++p) {
      if (p == end || (*p & 0xc0U) != 0x80U) return false;
    }
    return true;
  };
  while (p < end) {
    const unsigned char c = *p++;
    if (c < 0x80) continue;
    if (c < 0xc2 || c > 0xf4) return false;
    if (c < 0xe0) {
      if (!tail(1)) return false;
    } else {
      if (p == end) return false;
      const unsigned char next = *p;
      if (c == 0xe0 && next < 0xa0) return false;
      if (c == 0xed && next > 0x9f) return false;  // surrogates
      if (c == 0xf0 && next < 0x90) return false;
      if (c == 0xf4 && next > 0x8f) return false;
      if (!tail(c < 0xf0 ? 2 : 3)) return false;
    }
  }
  return true;
}

bool parse_line(std::string_view line, Groups& groups, Example& example) {
  example.clear();
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  if (has_odd_bytes(line)) {
    if (line.find_first_of("\r\n") != std::string_view::npos || !is_utf8(line)) return false;
  }
  const void* bar = line.empty() ? nullptr : std::memchr(line.data(), '|', line.size());
  if (bar == nullptr) return false;
  const char* body = static_cast<const char*>(bar);
  const std::string_view head(line.data(), static_cast<std::size_t>(body - line.data()));
  if (!parse_head(head, example)) return false;
  return BodyParser(body, line.data() + line.size(), groups, example).parse();
}

namespace {

// Removes the next word and the blank after it from a text; the word is empty before a blank.
std::string_view next_word(std::string_view& text) {
  const std::size_t stop = std::min(text.find_first_of(" \t\r\n"), text.size());
  const std::string_view word = text.substr(0, stop);
  text.remove_prefix(std::min(stop + 1, text.size()));
  return word;
}

// A feature of a line. The name has no colon.
struct NamedFeature {
  std::uint32_t hash;
  bool there;  // its value is not 0
  std::string name;
};

NamedFeature named_feature(std::string_view word, std::uint32_t seed, float scale,
                           std::uint32_t& anonymous) {
  const std::size_t colon = std::min(word.find(':'), word.size());
  const std::string_view name = word.substr(0, colon);
  const std::string_view text = word.substr(std::min(colon + 1, word.size()));
  const std::uint32_t hash = hash_name(name, seed);
  if (colon == word.size()) return {hash, scale != 0.0F, std::string(name)};
  const Number number = read_number(text);
  if (number.read == Read::kNumber) {
    const bool there = number.value * scale != 0.0F;
    if (!name.empty()) return {hash, there, std::string(name)};
    const std::uint32_t number_of_feature = anonymous++;
    return {seed + number_of_feature, there, std::to_string(number_of_feature)};
  }
  std::string joined(name.empty() ? text : word);
  std::replace(joined.begin(), joined.end(), ':', '=');
  return {hash_name(text, hash), true, std::move(joined)};
}

}  // namespace

// Parses the line again: this is called once per column.
std::string TextNames::name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const {
  const std::uint32_t seed = groups.seed(group);
  for (std::size_t bar = line.find('|'); bar != std::string_view::npos;) {
    const std::size_t next = line.find('|', bar + 1);
    std::string_view part = line.substr(bar + 1, std::min(next, line.size()) - bar - 1);
    bar = next;
    const std::string_view head = next_word(part);
    const std::size_t colon = std::min(head.find(':'), head.size());
    const std::string_view name =
        head.empty() ? std::string_view(&kDefaultGroup, 1) : head.substr(0, colon);
    if (name != groups[group].name) continue;
    const float scale = colon < head.size() ? read_number(head.substr(colon + 1)).value : 1.0F;
    std::uint32_t anonymous = 0;
    while (!part.empty()) {
      const std::string_view word = next_word(part);
      if (word.empty()) continue;
      NamedFeature feature = named_feature(word, seed, scale, anonymous);
      if (feature.there && feature.hash == hash) return std::move(feature.name);
    }
  }
  return std::to_string(hash - seed);
}

}  // namespace chacha
