// exp and pow in single precision, the same bits on every machine: the algorithms of the ARM
// optimized routines, which glibc uses, with their multiply-adds fused as glibc's are on machines
// that have them. So the results equal those of the C library that Vowpal Wabbit calls.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

// Code that is compiled for several machine types must not be merged by the linker.
#define CHACHA_INLINE inline __attribute__((always_inline))

namespace chacha {
namespace detail {

CHACHA_INLINE std::uint64_t bits_of(double x) {
  std::uint64_t b;
  std::memcpy(&b, &x, 8);
  return b;
}
CHACHA_INLINE double double_of(std::uint64_t b) {
  double x;
  std::memcpy(&x, &b, 8);
  return x;
}
CHACHA_INLINE std::uint32_t bits_of(float x) {
  std::uint32_t b;
  std::memcpy(&b, &x, 4);
  return b;
}
CHACHA_INLINE float float_of(std::uint32_t b) {
  float x;
  std::memcpy(&x, &b, 4);
  return x;
}

constexpr int kExpBits = 5;
constexpr int kExpSize = 1 << kExpBits;

// 2^(i/32), less i in the place of the exponent, so that adding k << 47 gives 2^(k/32).
extern const std::array<std::uint64_t, kExpSize> kExp;

constexpr double kShift = 0x1.8p+52;
constexpr std::array<double, 3> kExp2 = {0x1.c6af84b912394p-5, 0x1.ebfce50fac4f3p-3,
                                         0x1.62e42ff0c52d6p-1};
constexpr double kN = kExpSize;
constexpr double kInvLn2N = 0x1.71547652b82fep+0 * kN;

// 2^(k/32) · 2^(r/32) from k in the low bits of `shifted` and the rest r, coefficients by r.
CHACHA_INLINE double exp_tail(std::uint64_t k, double r, double c0, double c1, double c2) {
  const double s = double_of(kExp[k % kExpSize] + (k << (52 - kExpBits)));
  const double z = std::fma(c0, r, c1);
  const double y = std::fma(c2, r, 1.0);
  return std::fma(z, r * r, y) * s;
}

}  // namespace detail

// e^x.
CHACHA_INLINE float exp32(float x) {
  using namespace detail;
  if (!(x >= -0x1.9fe368p6F)) return x != x ? x : 0.0F;
  if (x > 0x1.62e42ep6F) return std::numeric_limits<float>::infinity();
  const double xd = x;
  const double shifted = std::fma(kInvLn2N, xd, kShift);
  const std::uint64_t k = bits_of(shifted);
  const double r = std::fma(kInvLn2N, xd, -(shifted - kShift));
  const double y = exp_tail(k, r, kExp2[0] / kN / kN / kN, kExp2[1] / kN / kN, kExp2[2] / kN);
  return static_cast<float>(y);
}

// x^y for x >= 0.
float pow32(float x, float y);

}  // namespace chacha
