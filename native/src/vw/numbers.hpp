// How Vowpal Wabbit reads a number: digits added up in float, times a float power of ten.
// Twin: src/chacha/data/vw_text.py.
#pragma once

#include <optional>
#include <string_view>

namespace chacha {

enum class Read {
  kNumber,   // the whole text is a number
  kWord,     // VW takes it for a word
  kUnclear,  // neither (nan, inf, 0x, 12ab, an endless exponent): to be refused
};

struct Number {
  Read read;
  float value;
};

// Return what VW reads from `text`, which is not empty and need not end with a zero byte.
Number read_number(std::string_view text);

// Return the float nearest to a plain decimal text in any locale; 0 if it is not a number.
float nearest(std::string_view text);
// Return the double nearest to a text that VW reads as a number; what VW reads, if its form is
// VW's own.
double nearest_double(std::string_view text);

}  // namespace chacha
