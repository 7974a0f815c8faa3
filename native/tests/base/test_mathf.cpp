// exp32 and pow32 are glibc's expf and powf to the bit; other C libraries differ in the last place.
#include <cmath>

#include "base/mathf.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

bool exact() {
#if defined(__x86_64__) && defined(__GLIBC__)
  return __builtin_cpu_supports("fma") != 0;  // without, glibc takes another path
#else
  return false;
#endif
}

bool agrees(float ours, float theirs) {
  if (check::same(ours, theirs) || (std::isnan(ours) && std::isnan(theirs))) return true;
  if (exact()) return false;
  return ours == theirs || std::nextafter(ours, theirs) == theirs;
}

float any_float(Rng& rng) { return detail::float_of(static_cast<std::uint32_t>(rng.bits())); }

void check_exp(float x) {
  if (!agrees(exp32(x), std::exp(x))) {
    check::fail(__FILE__, __LINE__,
                print("exp32(%a) is %a, not %a", static_cast<double>(x),
                      static_cast<double>(exp32(x)), static_cast<double>(std::exp(x))));
  }
}

void check_pow(float x, float y) {
  if (!agrees(pow32(x, y), std::pow(x, y))) {
    check::fail(__FILE__, __LINE__,
                print("pow32(%a, %a) is %a, not %a", static_cast<double>(x), static_cast<double>(y),
                      static_cast<double>(pow32(x, y)), static_cast<double>(std::pow(x, y))));
  }
}

}  // namespace

TEST(exp_equals_the_c_library) {
  Rng rng(2);
  for (int i = 0; i < 1000000; ++i) check_exp(any_float(rng));
  for (int i = 0; i < 1000000; ++i) check_exp(static_cast<float>((rng.real() - 0.5) * 220.0));
  for (int i = 0; i < 500000; ++i) check_exp(static_cast<float>((rng.real() - 0.5) * 1e-3));
  for (float x = -104.1F; x < -103.8F; x = std::nextafter(x, 0.0F))
    check_exp(x);  // where it becomes 0
  for (float x = 88.7F; x < 88.75F; x = std::nextafter(x, 100.0F))
    check_exp(x);  // and where infinite
}

TEST(exp_of_odd_values) {
  CHECK(check::same(exp32(0.0F), 1.0F));
  CHECK(check::same(exp32(-0.0F), 1.0F));
  CHECK(check::same(exp32(INFINITY), INFINITY));
  CHECK(check::same(exp32(-INFINITY), 0.0F));
  CHECK(std::isnan(exp32(NAN)));
}

TEST(pow_equals_the_c_library) {
  Rng rng(4);
  for (int i = 0; i < 1000000; ++i)
    check_pow(std::fabs(any_float(rng)), -static_cast<float>(rng.real()));
  for (int i = 0; i < 500000; ++i) check_pow(std::fabs(any_float(rng)), any_float(rng));
  for (int i = 0; i < 500000; ++i) {
    check_pow(static_cast<float>(rng.real() * 10), static_cast<float>(rng.real() * 4 - 2));
  }
  for (std::uint32_t bits = 1; bits < 0x00800000U; bits += 97)
    check_pow(detail::float_of(bits), -0.3F);  // denormals
}

TEST(pow_of_odd_values) {
  for (const float y : {0.0F, -0.0F, 1.0F, -1.0F, 0.5F, -0.5F, INFINITY, -INFINITY, NAN}) {
    for (const float x : {0.0F, 1.0F, 2.0F, 0.5F, INFINITY, NAN, 1e-45F}) check_pow(x, y);
  }
}
