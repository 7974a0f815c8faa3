#include "base/mathf.hpp"

namespace chacha {
namespace detail {

// Bits of the double nearest to 2^(i/32), less i << 47.
const std::array<std::uint64_t, kExpSize> kExp = {
    0x3ff0000000000000, 0x3fefd9b0d3158574, 0x3fefb5586cf9890f, 0x3fef9301d0125b51,
    0x3fef72b83c7d517b, 0x3fef54873168b9aa, 0x3fef387a6e756238, 0x3fef1e9df51fdee1,
    0x3fef06fe0a31b715, 0x3feef1a7373aa9cb, 0x3feedea64c123422, 0x3feece086061892d,
    0x3feebfdad5362a27, 0x3feeb42b569d4f82, 0x3feeab07dd485429, 0x3feea47eb03a5585,
    0x3feea09e667f3bcd, 0x3fee9f75e8ec5f74, 0x3feea11473eb0187, 0x3feea589994cce13,
    0x3feeace5422aa0db, 0x3feeb737b0cdc5e5, 0x3feec49182a3f090, 0x3feed503b23e255d,
    0x3feee89f995ad3ad, 0x3feeff76f2fb5e47, 0x3fef199bdd85529c, 0x3fef3720dcef9069,
    0x3fef5818dcfba487, 0x3fef7c97337b9b5f, 0x3fefa4afa2a490da, 0x3fefd0765b6e4540};

namespace {

struct Log2Entry {
  double inverse, log2;
};

// 1/c and log2(c) for c near the middle of sixteen intervals.
constexpr std::array<Log2Entry, 16> kLog2 = {{{0x1.661ec79f8f3bep+0, -0x1.efec65b963019p-2},
                                              {0x1.571ed4aaf883dp+0, -0x1.b0b6832d4fca4p-2},
                                              {0x1.49539f0f010bp+0, -0x1.7418b0a1fb77bp-2},
                                              {0x1.3c995b0b80385p+0, -0x1.39de91a6dcf7bp-2},
                                              {0x1.30d190c8864a5p+0, -0x1.01d9bf3f2b631p-2},
                                              {0x1.25e227b0b8eap+0, -0x1.97c1d1b3b7afp-3},
                                              {0x1.1bb4a4a1a343fp+0, -0x1.2f9e393af3c9fp-3},
                                              {0x1.12358f08ae5bap+0, -0x1.960cbbf788d5cp-4},
                                              {0x1.0953f419900a7p+0, -0x1.a6f9db6475fcep-5},
                                              {0x1p+0, 0x0p+0},
                                              {0x1.e608cfd9a47acp-1, 0x1.338ca9f24f53dp-4},
                                              {0x1.ca4b31f026aap-1, 0x1.476a9543891bap-3},
                                              {0x1.b2036576afce6p-1, 0x1.e840b4ac4e4d2p-3},
                                              {0x1.9c2d163a1aa2dp-1, 0x1.40645f0c6651cp-2},
                                              {0x1.886e6037841edp-1, 0x1.88e9c2c1b9ff8p-2},
                                              {0x1.767dcf5534862p-1, 0x1.ce0a44eb17bccp-2}}};
constexpr std::array<double, 5> kLog2Poly = {0x1.27616c9496e0bp-2, -0x1.71969a075c67ap-2,
                                             0x1.ec70a6ca7baddp-2, -0x1.7154748bef6c8p-1,
                                             0x1.71547652ab82bp0};
constexpr std::uint32_t kOffset = 0x3f330000;

// log2 of a positive normal float, given by its bits.
double log2_of(std::uint32_t ix) {
  const std::uint32_t tmp = ix - kOffset;
  const Log2Entry& entry = kLog2[(tmp >> 19) % 16];
  const std::uint32_t top = tmp & 0xff800000U;
  const auto k = static_cast<double>(static_cast<std::int32_t>(top) >> 23);
  const auto z = static_cast<double>(float_of(ix - top));
  const double r = std::fma(z, entry.inverse, -1.0);
  const double y0 = entry.log2 + k;
  const double r2 = r * r;
  double y = std::fma(kLog2Poly[0], r, kLog2Poly[1]);
  const double p = std::fma(kLog2Poly[2], r, kLog2Poly[3]);
  const double r4 = r2 * r2;
  double q = std::fma(kLog2Poly[4], r, y0);
  q = std::fma(p, r2, q);
  y = std::fma(y, r4, q);
  return y;
}

}  // namespace
}  // namespace detail

float pow32(float x, float y) {
  using namespace detail;
  if (!(x > 0.0F) || !std::isfinite(x) || !std::isfinite(y) || y == 0.0F)
    return std::pow(x, y);  // exact cases
  std::uint32_t ix = bits_of(x);
  if (ix < 0x00800000U) {  // a denormal
    ix = bits_of(x * 0x1p23F) & 0x7fffffffU;
    ix -= 23U << 23;
  }
  const double ylogx = static_cast<double>(y) * log2_of(ix);
  if (ylogx > 0x1.fffffffd1d571p+6) return std::numeric_limits<float>::infinity();
  if (ylogx <= -150.0) return 0.0F;
  constexpr double shift = kShift / kExpSize;
  const double shifted = ylogx + shift;
  const double r = ylogx - (shifted - shift);
  return static_cast<float>(exp_tail(bits_of(shifted), r, kExp2[0], kExp2[1], kExp2[2]));
}

}  // namespace chacha
