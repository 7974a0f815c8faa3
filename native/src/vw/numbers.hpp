// How Vowpal Wabbit reads a number: digits added up in float, times a float power of ten.
#pragma once

#include <optional>
#include <string_view>

namespace chacha {

enum class Read {
  kNumber,   // the whole text is a number
  kWord,     // VW takes it for a word
  kUnclear,  // neither (nan, inf, 0x, 12ab, an exponent without end): let the caller refuse it
};

struct Number {
  Read read;
  float value;
};

// What VW reads from `text`, which is not empty. `text` need not end with a zero byte.
Number read_number(std::string_view text);

// The nearest float of a plain decimal text, whatever the locale; 0 if it is none.
float nearest(std::string_view text);

}  // namespace chacha
