// Shared by the fuzzers: seed lines, words, and ways to spoil a text. The same seed of the
// generator gives the same texts.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/streams.hpp"

namespace chacha {

// Aborts the program and prints the text that broke a rule.
inline void require(bool holds, const char* rule, std::string_view text) {
  if (holds) return;
  std::printf("broken: %s\n", rule);
  for (const char c : text)
    std::printf("\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  std::printf("\n");
  std::fflush(stdout);
  std::abort();
}

class Deadline {
 public:
  // The first argument of the program: seconds.
  Deadline(int argc, char** argv)
      : end_(std::chrono::steady_clock::now() +
             std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 20)) {}
  bool passed() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

inline std::uint64_t seed_of(int argc, char** argv) {
  return argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
}

inline const std::vector<std::string>& seed_lines() {
  static const std::vector<std::string> lines = {
      "1 |a x y:2 |b z:0.5",
      "-1.5 2 0.25 'tag|user age:33 name=joe |item:0.5 price:1e2 color:red",
      "1 | 1 2:3 4:-5.5 :6 :7",
      "0 |a 1|b 2|a 3|alpha 4|b 5 6 7",
      "3 0 |a |b |c x |a",
      "1e3 1e-3 |a:1e-3 x:+1.5 y:1e+2 z:12345678.90123",
      "1 't |\xc3\xa9t\xc3\xa9 \xe2\x82\xac:2 \xf0\x9f\x98\x80\r",
      "|a no label |user x:0.1",
      "2\t|a tab\ttab:3",
      "1 |a 4294967295 4294967296 99999999999999999999:0.00000000000000000000000000000000000001",
  };
  return lines;
}

inline const std::vector<std::string>& seed_words() {
  static const std::vector<std::string> words = {"|",           ":",           " ",
                                                 "'",           "\t",          "\r",
                                                 "\n",          "nan",         "inf",
                                                 "-",           ".",           "e",
                                                 "e+0",         "1e39",        "1e-45",
                                                 "0x1",         "|a ",         "|b:2 ",
                                                 "|user ",      "||||",        ":0",
                                                 ":-0.0",       ":1e38",       "1 2 3 ",
                                                 "\xff",        "\xc3",        "\xed\xa0\x80",
                                                 "16777217",    "0.333333333", "|alpha ",
                                                 "4294967296",  " |a |a |b ",  "|missing(a) ",
                                                 "|bins(a,3) ", "|missing(",   ")"};
  return words;
}

// Up to six changes: bits, bytes, cuts, repeats, words, splices with another text.
inline std::string spoiled(Rng& rng, std::string text, const std::string& other, std::size_t most) {
  for (std::uint32_t n = rng.below(6) + 1; n > 0; --n) {
    const auto size = static_cast<std::uint32_t>(text.size());
    const std::uint32_t at = rng.below(size + 1);
    switch (rng.below(8)) {
      case 0:
        if (at < size)
          text[at] = static_cast<char>(text[at] ^ static_cast<char>(1U << rng.below(8)));
        break;
      case 1:
        if (at < size) text[at] = static_cast<char>(rng.below(256));
        break;
      case 2:
        text.erase(at, rng.below(12));
        break;
      case 3:
        text.insert(at, text.substr(rng.below(size + 1), rng.below(40)));
        break;
      case 4:
      case 5:
        text.insert(at, seed_words()[rng.below(static_cast<std::uint32_t>(seed_words().size()))]);
        break;
      case 6:
        text = text.substr(0, at) +
               other.substr(rng.below(static_cast<std::uint32_t>(other.size()) + 1));
        break;
      default:
        if (rng.chance(4)) text.resize(at);
    }
  }
  if (text.size() > most) text.resize(most);
  return text;
}

}  // namespace chacha
