// The passes themselves; included once per machine type with CHACHA_KERNEL set to a name.
#include <cfloat>
#include <cmath>
#include <cstring>

#include "kernel.hpp"
#include "weights.hpp"

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

// One vector of lanes, `at` lanes into the place.
template <int W, bool Pulled>
CHACHA_INLINE void dot_lanes(const Passes& passes, Segments segments, std::size_t at, const float* gravity,
                             float* sums) {
  using F = typename Vec<W>::F;
  using I = typename Vec<W>::I;
  const std::size_t stride = 4 * passes.width;
  const float* table = passes.table + at;
  F sum = load<W>(sums + at);
  for (const Segment& segment : segments) {
    const I mask = load<W>(passes.masks + segment.mask * passes.width + at);
    for (std::uint32_t f = segment.begin; f < segment.end; ++f) {
      F w = load<W>(table + passes.places[f] * stride);
      if constexpr (Pulled) {
        const F pull = load<W>(gravity + at);
        const F size = (F)((I)w & 0x7fffffff);
        const F pulled = w <= 0.0F ? w - -1.0F * pull : w - 1.0F * pull;
        w = pull < size ? pulled : (F){};
      }
      sum += only<W>(w * passes.values[f], mask);
    }
  }
  store<W>(sums + at, sum);
}

template <int W>
CHACHA_INLINE void rate_lanes(const Passes& passes, Segments segments, std::size_t at, const float* gradient2,
                              const std::int32_t* active, float* norm_x, float* per_update) {
  using F = typename Vec<W>::F;
  using I = typename Vec<W>::I;
  const I working = load<W>(active + at);
  if (!any<W>(working)) return;
  const std::size_t width = passes.width;
  const F gradient = load<W>(gradient2 + at);
  F nx = load<W>(norm_x + at);
  F per = load<W>(per_update + at);
  for (const Segment& segment : segments) {
    const I mask = load<W>(passes.masks + segment.mask * width + at) & working;
    if (!any<W>(mask)) continue;
    for (std::uint32_t f = segment.begin; f < segment.end; ++f) {
      float* place = passes.table + passes.places[f] * (4 * width) + at;
      const Scaled x(passes.values[f]);
      const F adaptive = load<W>(place + width) + only<W>(gradient * x.square, mask);
      store<W>(place + width, adaptive);
      F norm = load<W>(place + 2 * width);
      const F size = (F){} + x.size;
      const I larger = (size > norm) & mask;
      if (any<W>(larger)) {
        const F w = load<W>(place);
        store<W>(place, (larger & (norm > 0.0F)) ? w * (norm / size) : w);
        norm = larger ? size : norm;
        store<W>(place + 2 * width, norm);
      }
      const F share = x.beyond ? (F){} + 1.0F : x.square / (norm * norm);
      nx += only<W>(share, mask);
      const F rate = (1.0F / square_root<W>(adaptive)) * (1.0F / norm);
      store<W>(place + 3 * width, mask ? rate : load<W>(place + 3 * width));
      per += only<W>(x.square * rate, mask);
    }
  }
  store<W>(norm_x + at, nx);
  store<W>(per_update + at, per);
}

template <int W>
CHACHA_INLINE void train_lanes(const Passes& passes, Segments segments, std::size_t at, const float* update,
                               const std::int32_t* active) {
  using F = typename Vec<W>::F;
  using I = typename Vec<W>::I;
  const I working = load<W>(active + at);
  if (!any<W>(working)) return;
  const std::size_t width = passes.width;
  const F step = load<W>(update + at);
  for (const Segment& segment : segments) {
    const I mask = load<W>(passes.masks + segment.mask * width + at) & working;
    if (!any<W>(mask)) continue;
    for (std::uint32_t f = segment.begin; f < segment.end; ++f) {
      float* place = passes.table + passes.places[f] * (4 * width) + at;
      const float x = passes.values[f];
      if (!(x < FLT_MAX && x > -FLT_MAX)) continue;
      const F moved = only<W>(step * (x * load<W>(place + 3 * width)), mask);
      store<W>(place, load<W>(place) + moved);
    }
  }
}

// Lanes whose power_t is not 0.5, one by one.
void rate_powers(const Passes& passes, Segments segments, const float* gradient2, const std::int32_t* active,
                 float* norm_x, float* per_update) {
  const std::size_t width = passes.width;
  for (std::size_t lane = 0; lane < width; ++lane) {
    if (active[lane] == 0 || passes.rates[lane].square_root) continue;
    for (const Segment& segment : segments) {
      if (passes.masks[segment.mask * width + lane] == 0) continue;
      for (std::uint32_t f = segment.begin; f < segment.end; ++f) {
        const Weight weight{passes.table + passes.places[f] * (4 * width) + lane, width};
        weight.rate_power(passes.values[f], gradient2[lane], passes.rates[lane], norm_x[lane], per_update[lane]);
      }
    }
  }
}

// Calls work<W>(at) for vectors of lanes that cover the width.
template <class Work>
inline void by_lanes(std::size_t width, Work work) {
  std::size_t at = 0;
#if defined(__AVX512F__)
  for (; at + 16 <= width; at += 16) work.template run<16>(at);
#endif
#if defined(__AVX__)
  for (; at + 8 <= width; at += 8) work.template run<8>(at);
#endif
  for (; at < width; at += 4) work.template run<4>(at);
}

struct Dot {
  const Passes& passes;
  Segments segments;
  const float* gravity;
  float* sums;
  template <int W>
  void run(std::size_t at) {
    if (gravity == nullptr) {
      dot_lanes<W, false>(passes, segments, at, nullptr, sums);
    } else {
      dot_lanes<W, true>(passes, segments, at, gravity, sums);
    }
  }
};

struct Rate {
  const Passes& passes;
  Segments segments;
  const float* gradient2;
  const std::int32_t* active;
  float* norm_x;
  float* per_update;
  template <int W>
  void run(std::size_t at) {
    rate_lanes<W>(passes, segments, at, gradient2, active, norm_x, per_update);
  }
};

struct Train {
  const Passes& passes;
  Segments segments;
  const float* update;
  const std::int32_t* active;
  template <int W>
  void run(std::size_t at) {
    train_lanes<W>(passes, segments, at, update, active);
  }
};

void dot(const Passes& passes, Segments segments, const float* gravity, float* sums) {
  by_lanes(passes.width, Dot{passes, segments, gravity, sums});
}

void rate(const Passes& passes, Segments segments, const float* gradient2, const std::int32_t* active, float* norm_x,
          float* per_update) {
  if (passes.all_square_root) {
    by_lanes(passes.width, Rate{passes, segments, gradient2, active, norm_x, per_update});
    return;
  }
  std::int32_t roots[kMostLanes];
  for (std::size_t lane = 0; lane < passes.width; ++lane) {
    roots[lane] = passes.rates[lane].square_root ? active[lane] : 0;
  }
  by_lanes(passes.width, Rate{passes, segments, gradient2, roots, norm_x, per_update});
  rate_powers(passes, segments, gradient2, active, norm_x, per_update);
}

void train(const Passes& passes, Segments segments, const float* update, const std::int32_t* active) {
  by_lanes(passes.width, Train{passes, segments, update, active});
}

void exp(const float* x, float* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = exp32(x[i]);
}

}  // namespace
}  // namespace CHACHA_KERNEL
}  // namespace chacha
