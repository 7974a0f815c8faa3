// Vectors of lanes: part of kernel_impl.hpp, and included with it once per machine type.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/mathf.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace chacha {
namespace CHACHA_KERNEL {
namespace {

template <int W>
struct Vec {
  typedef float F __attribute__((vector_size(W * 4)));
  typedef std::int32_t I __attribute__((vector_size(W * 4)));
};

template <int W>
inline typename Vec<W>::F load(const float* p) {
  typename Vec<W>::F v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <int W>
inline typename Vec<W>::I load(const std::int32_t* p) {
  typename Vec<W>::I v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <int W>
inline void store(float* p, typename Vec<W>::F v) {
  std::memcpy(p, &v, sizeof v);
}
template <int W>
inline typename Vec<W>::F only(typename Vec<W>::F v, typename Vec<W>::I mask) {
  return (typename Vec<W>::F)((typename Vec<W>::I)v & mask);
}

template <int W>
inline typename Vec<W>::F square_root(typename Vec<W>::F v) {
  using F = typename Vec<W>::F;
#if defined(__AVX512F__)
  if constexpr (W == 16) return (F)_mm512_sqrt_ps((__m512)v);
#endif
#if defined(__AVX__)
  if constexpr (W == 8) return (F)_mm256_sqrt_ps((__m256)v);
#endif
#if defined(__x86_64__)
  if constexpr (W == 4) return (F)_mm_sqrt_ps((__m128)v);
#elif defined(__ARM_NEON) && defined(__aarch64__)
  if constexpr (W == 4) return (F)vsqrtq_f32((float32x4_t)v);
#endif
  for (int i = 0; i < W; ++i) v[i] = std::sqrt(v[i]);
  return v;
}

template <int W>
inline bool any(typename Vec<W>::I mask) {
#if defined(__AVX512F__)
  if constexpr (W == 16) return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#endif
#if defined(__AVX__)
  if constexpr (W == 8) return _mm256_movemask_ps((__m256)mask) != 0;
#endif
#if defined(__x86_64__)
  if constexpr (W == 4) return _mm_movemask_ps((__m128)mask) != 0;
#endif
  std::int32_t all = 0;
  for (int i = 0; i < W; ++i) all |= mask[i];
  return all != 0;
}

// e^x for x <= 0; the bits of exp32.
template <int W>
CHACHA_INLINE typename Vec<W>::F exp_negative(typename Vec<W>::F x) {
#if defined(__AVX2__) && defined(__FMA__)
  for (int i = 0; i < W; i += 4) {
    using namespace detail;
    float four[4];
    std::memcpy(four, reinterpret_cast<const float*>(&x) + i, sizeof four);
    __m256d xd = _mm256_cvtps_pd(_mm_loadu_ps(four));
    xd = _mm256_max_pd(_mm256_set1_pd(-200.0), xd);  // NaN stays: the second operand is given back
    const __m256d shift = _mm256_set1_pd(kShift);
    const __m256d scale = _mm256_set1_pd(kInvLn2N);
    const __m256d shifted = _mm256_fmadd_pd(scale, xd, shift);
    const __m256d r = _mm256_fmsub_pd(scale, xd, _mm256_sub_pd(shifted, shift));
    const __m256i k = _mm256_castpd_si256(shifted);
    const __m256i at = _mm256_and_si256(k, _mm256_set1_epi64x(kExpSize - 1));
    const __m256i low =
        _mm256_i64gather_epi64(reinterpret_cast<const long long*>(kExp.data()), at, 8);
    const __m256d s =
        _mm256_castsi256_pd(_mm256_add_epi64(low, _mm256_slli_epi64(k, 52 - kExpBits)));
    const __m256d z = _mm256_fmadd_pd(_mm256_set1_pd(kExp2[0] / kN / kN / kN), r,
                                      _mm256_set1_pd(kExp2[1] / kN / kN));
    const __m256d y = _mm256_fmadd_pd(_mm256_set1_pd(kExp2[2] / kN), r, _mm256_set1_pd(1.0));
    const __m256d e = _mm256_mul_pd(_mm256_fmadd_pd(z, _mm256_mul_pd(r, r), y), s);
    _mm_storeu_ps(four, _mm256_cvtpd_ps(e));
    std::memcpy(reinterpret_cast<float*>(&x) + i, four, sizeof four);
  }
#else
  for (int i = 0; i < W; ++i) x[i] = exp32(x[i]);
#endif
  return x;
}

template <int W>
CHACHA_INLINE typename Vec<W>::F within(typename Vec<W>::F raw, typename Vec<W>::F low,
                                        typename Vec<W>::F high) {
  using F = typename Vec<W>::F;
  const F clipped = raw > high ? high : (raw < low ? low : raw);
  return raw != raw ? (F){} : clipped;
}

}  // namespace
}  // namespace CHACHA_KERNEL
}  // namespace chacha
