// Numbers as VW reads them: not always the nearest float.
#include <cmath>
#include <cstdlib>

#include "support/check.hpp"
#include "support/streams.hpp"
#include "vw/numbers.hpp"

using namespace chacha;

namespace {

// VW's own loop (parseFloat), kept simple: what read_number must give.
float as_vw(const std::string& text) {
  const char* p = text.c_str();
  float sign = 1.0F;
  if (*p == '-') {
    sign = -1.0F;
    ++p;
  }
  float acc = 0.0F;
  while (*p >= '0' && *p <= '9')
    acc = acc * 10.0F + static_cast<float>(*p++) - static_cast<float>('0');
  int decimals = 0;
  if (*p == '.') {
    while (*++p >= '0' && *p <= '9') {
      if (decimals >= 35) continue;
      acc = acc * 10.0F + static_cast<float>(*p - '0');
      ++decimals;
    }
  }
  int exponent = 0;
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool down = *p == '-';
    if (down) ++p;
    while (*p >= '0' && *p <= '9') exponent = exponent * 10 + (*p++ - '0');
    if (down) exponent = -exponent;
  }
  const auto shift = static_cast<std::int8_t>(exponent - decimals);
  if (shift > 38) return sign * acc * INFINITY;
  if (shift < -37) return sign * acc * 0.0F;
  float power = 1.0F;
  for (int i = 0; i < shift; ++i) power *= 10.0F;
  for (int i = 0; i > shift; --i) power /= 10.0F;
  return sign * (acc * power);
}

void reads(const std::string& text, float value) {
  const Number number = read_number(text);
  CHECK(number.read == Read::kNumber);
  if (check::same(number.value, value) || (std::isnan(number.value) && std::isnan(value))) return;
  check::fail(__FILE__, __LINE__,
              print("%.60s is read as %a, not %a", text.c_str(), static_cast<double>(number.value),
                    static_cast<double>(value)));
}

Read kind(const std::string& text) { return read_number(text).read; }

}  // namespace

TEST(numbers_are_sums_of_digits) {
  for (const char* text :
       {"0",        "1",        "-1",          "17",         "0.5",        "-.5",       "5.",
        "1.1",      "-3.14159", "0.1",         "1e3",        "1E-3",       "2.5e2",     "123456789",
        "16777217", "99999999", "0.123456789", "1234.56789", "12345678.9", "3.0000001", "1e10",
        "1e-10",    "-0",       "00012",       "1e00005"}) {
    reads(text, as_vw(text));
  }
}

TEST(numbers_of_many_digits) {
  Rng rng(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text = rng.chance(3) ? "-" : "";
    for (std::uint32_t n = rng.below(14); n > 0; --n)
      text += static_cast<char>('0' + rng.below(10));
    text += '.';
    for (std::uint32_t n = rng.below(rng.chance(8) ? 50 : 12) + 1; n > 0; --n) {
      text += static_cast<char>('0' + rng.below(10));
    }
    if (rng.chance(3)) text += print("e%d", static_cast<int>(rng.below(60)) - 30);
    reads(text, as_vw(text));
  }
}

TEST(decimals_after_the_35th_do_not_count) {
  const std::string zeros(34, '0');
  reads("0." + zeros + "1", as_vw("0." + zeros + "1"));
  reads("0." + zeros + "19999", as_vw("0." + zeros + "1"));
  reads("1." + std::string(60, '3'), as_vw("1." + std::string(35, '3')));
  reads("1." + std::string(100000, '3'), as_vw("1." + std::string(35, '3')));
}

TEST(exponents_are_kept_in_one_byte) {
  CHECK(std::isinf(read_number("1e39").value));
  reads("1e38", as_vw("1e38"));
  reads("1e-38", 0.0F);
  reads("1e256", 1.0F);
  reads("1e300", as_vw("1e44"));
  reads("1e-300", as_vw("1e-44"));
  reads("1e-250", as_vw("1e6"));
  CHECK(std::isnan(read_number("0e39").value));  // 0 · ∞, as VW has it
  CHECK(kind("1e1000000000") == Read::kUnclear);
  CHECK(kind("1e-123456789012345678901234567890") == Read::kUnclear);
}

TEST(the_c_library_reads_what_vw_leaves_to_it) {
  reads("1e+0", 1.0F);
  reads("1.1e+1", std::strtof("1.1e+1", nullptr));
  reads("+2.5", 2.5F);
  reads("+16777217", std::strtof("16777217", nullptr));
  reads("-1.7e+300", -INFINITY);
  reads("1e+400", INFINITY);
  reads("1e-0400", as_vw("1e-0400"));
  reads("+1e-400", 0.0F);
  reads("+1e-42", std::strtof("1e-42", nullptr));
}

TEST(words_are_words) {
  for (const char* text :
       {"red", "a1", "x.5", "-red", "+", "+x", "_", "e5x", "\xc3\xa9", "--1", "+-1"}) {
    CHECK(kind(text) == Read::kWord);
  }
}

TEST(empty_forms_are_0_as_in_vw) {
  for (const char* text : {"-", ".", "-.", "e", "e5", ".e1"}) {
    CHECK(kind(text) == Read::kNumber);
    CHECK(read_number(text).value == 0.0F);
  }
}

TEST(what_could_be_both_is_unclear) {
  for (const char* text : {"nan", "NaN", "-nan", "inf", "-Infinity", "+inf", "0x10", "12ab",
                           "1.5.2", "1e5e", "+.5x", "1,5", "-1-", "1e+", "7e+x"}) {
    CHECK(kind(text) == Read::kUnclear);
  }
}

TEST(numbers_need_no_zero_byte_after_them) {
  const std::string text = "12.5e39";
  for (std::size_t n = 1; n <= text.size(); ++n) {
    const std::vector<char> exact(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(n));
    const Number number = read_number({exact.data(), exact.size()});
    CHECK(number.read == Read::kNumber);
    CHECK(check::same(number.value, as_vw(text.substr(0, n))));
  }
}
