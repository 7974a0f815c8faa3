// The passes themselves; included once per machine type with CHACHA_KERNEL set to a name.
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#include "data/absent.hpp"
#include "learner/kernel.hpp"
#include "learner/kernel_vectors.hpp"
#include "learner/weight.hpp"

namespace chacha {
namespace CHACHA_KERNEL {
namespace {

// One vector of lanes, `at` lanes into the place.
template <int W, bool Pulled>
CHACHA_INLINE void dot_lanes(const Passes& passes, Segments segments, std::size_t at,
                             const float* gravity, float* sums) {
  using F = typename Vec<W>::F;
  using I = typename Vec<W>::I;
  const std::size_t stride = 4 * passes.width;
  const float* table = passes.table + at;
  F sum = load<W>(sums + at);
  for (const Segment& segment : segments) {
    const I mask = load<W>(passes.masks + segment.mask * passes.width + at);
    for (std::uint32_t f = segment.begin; f < segment.end; ++f) {
      if (is_absent(passes.values[f])) continue;
      F w = load<W>(table + passes.places[f] * stride);
      if constexpr (Pulled) {
        const F pull = load<W>(gravity + at);
        const F size = (F)((I)w & 0x7fffffff);
        const F pulled = w <= 0.0F ? w - -1.0F * pull : w - 1.0F * pull;
        w = pull < 0.0F ? w : (pull < size ? pulled : (F){});  // below 0: this lane has no l1
      }
      sum += only<W>(w * passes.values[f], mask);
    }
  }
  store<W>(sums + at, sum);
}

template <int W>
CHACHA_INLINE void rate_features(const Passes& passes, Segments segments, std::size_t at,
                                 typename Vec<W>::F gradient, typename Vec<W>::I working,
                                 typename Vec<W>::F& nx, typename Vec<W>::F& per) {
  using F = typename Vec<W>::F;
  using I = typename Vec<W>::I;
  const std::size_t width = passes.width;
  for (const Segment& segment : segments) {
    const I mask = load<W>(passes.masks + segment.mask * width + at) & working;
    if (!any<W>(mask)) continue;
    for (std::uint32_t f = segment.begin; f < segment.end; ++f) {
      if (is_absent(passes.values[f])) continue;
      float* place = passes.table + passes.places[f] * (4 * width) + at;
      const Scaled x(passes.values[f]);
      const F before = load<W>(place + width);
      const F more = only<W>(gradient * x.square, mask);
      F adaptive = before + more;
      F norm = load<W>(place + 2 * width);
      const F size = (F){} + x.size;
      const I larger = (size > norm) & mask;
      if (any<W>(larger)) {
        const F w = load<W>(place);
        const I rated = norm > 0.0F;
        store<W>(place, (larger & rated) ? w * (norm / size) : w);
        if (passes.seeds != nullptr) {
          const F seed = load<W>(passes.seeds + segment.mask * width + at);
          adaptive = (before + only<W>(seed * x.square, larger & ~rated & (seed > 0.0F))) + more;
        }
        norm = larger ? size : norm;
        store<W>(place + 2 * width, norm);
      }
      store<W>(place + width, adaptive);
      const F share = x.beyond ? (F){} + 1.0F : x.square / (norm * norm);
      nx += only<W>(share, mask);
      const F rate = (1.0F / square_root<W>(adaptive)) * (1.0F / norm);
      store<W>(place + 3 * width, mask ? rate : load<W>(place + 3 * width));
      per += only<W>(x.square * rate, mask);
    }
  }
}

template <int W>
CHACHA_INLINE void train_features(const Passes& passes, Segments segments, std::size_t at,
                                  typename Vec<W>::F step, typename Vec<W>::I working) {
  using F = typename Vec<W>::F;
  using I = typename Vec<W>::I;
  const std::size_t width = passes.width;
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

template <int W>
CHACHA_INLINE void rate_lanes(const Passes& passes, Segments segments, std::size_t at,
                              const float* gradient2, const std::int32_t* active, float* norm_x,
                              float* per_update) {
  typename Vec<W>::F nx = load<W>(norm_x + at);
  typename Vec<W>::F per = load<W>(per_update + at);
  rate_features<W>(passes, segments, at, load<W>(gradient2 + at), load<W>(active + at), nx, per);
  store<W>(norm_x + at, nx);
  store<W>(per_update + at, per);
}

template <int W>
CHACHA_INLINE void train_lanes(const Passes& passes, Segments segments, std::size_t at,
                               const float* update, const std::int32_t* active) {
  train_features<W>(passes, segments, at, load<W>(update + at), load<W>(active + at));
}

// Lanes whose power_t is not 0.5, one by one.
void rate_powers(const Passes& passes, Segments segments, const float* gradient2,
                 const std::int32_t* active, float* norm_x, float* per_update) {
  const std::size_t width = passes.width;
  for (std::size_t lane = 0; lane < width; ++lane) {
    if (active[lane] == 0 || passes.rates[lane].square_root) continue;
    for (const Segment& segment : segments) {
      if (passes.masks[segment.mask * width + lane] == 0) continue;
      const float seed = seed_of(passes, segment.mask, lane);
      for (std::uint32_t f = segment.begin; f < segment.end; ++f) {
        if (is_absent(passes.values[f])) continue;
        const Weight weight{passes.table + passes.places[f] * (4 * width) + lane, width};
        weight.rate_power(passes.values[f], gradient2[lane], seed, passes.rates[lane], norm_x[lane],
                          per_update[lane]);
      }
    }
  }
}

// Call work<W>(at) for vectors of lanes that cover the width.
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

void rate(const Passes& passes, Segments segments, const float* gradient2,
          const std::int32_t* active, float* norm_x, float* per_update) {
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

void train(const Passes& passes, Segments segments, const float* update,
           const std::int32_t* active) {
  by_lanes(passes.width, Train{passes, segments, update, active});
}

// Call wide(segments) and narrow(part, lane within the vector) for the parts in their order.
template <int W, class Wide, class Narrow>
CHACHA_INLINE void each_part(const Lesson& lesson, std::size_t at, Wide wide, Narrow narrow) {
  for (std::size_t i = 0; i < lesson.part_count; ++i) {
    const Part& part = lesson.parts[i];
    if (part.owner < 0) {
      wide(Segments{lesson.segments + part.begin, lesson.segments + part.end});
    } else if (static_cast<std::size_t>(part.owner) - at < W) {
      narrow(part, static_cast<std::size_t>(part.owner) - at);
    }
  }
}

template <class Visit>
CHACHA_INLINE void each_narrow(const Lesson& lesson, const Part& part, Visit visit) {
  const auto lane = static_cast<std::size_t>(part.owner);
  const LaneWeights weights(lesson.narrow.cells[lane], lesson.passes.table, lesson.passes.width,
                            lane);
  for (std::uint32_t f = part.begin; f < part.end; ++f) {
    if (!is_absent(lesson.narrow.values[f]))
      visit(weights[lesson.narrow.places[f]], lesson.narrow.values[f]);
  }
}

// One vector of lanes learns an example: the rules of trainer.cpp, vectorised.
template <int W>
void learn_lanes(const Lesson& lesson, std::size_t at) {
  using F = typename Vec<W>::F;
  using I = typename Vec<W>::I;
  typedef double D __attribute__((vector_size(W * 8)));
  const Passes& passes = lesson.passes;
  const LaneArrays& lanes = lesson.lanes;
  const I live = load<W>(passes.masks + at);
  if (!any<W>(live)) return;

  F sum = (F){} + lesson.initial;
  each_part<W>(
      lesson, at,
      [&](Segments segments) {
        for (const Segment& segment : segments) {
          const I mask = load<W>(passes.masks + segment.mask * passes.width + at);
          for (std::uint32_t f = segment.begin; f < segment.end; ++f) {
            if (is_absent(passes.values[f])) continue;
            sum += only<W>(load<W>(passes.table + passes.places[f] * (4 * passes.width) + at) *
                               passes.values[f],
                           mask);
          }
        }
      },
      [&](const Part& part, std::size_t lane) {
        float lane_sum = sum[lane];
        each_narrow(lesson, part,
                    [&](const Weight& weight, float x) { lane_sum += weight.w() * x; });
        sum[lane] = lane_sum;
      });

  const F y = load<W>(lesson.labels + at);
  F low = load<W>(lanes.low + at);
  F high = load<W>(lanes.high + at);
  store<W>(lesson.predictions + at, within<W>(sum, low, high));
  low = y < low ? y : low;
  high = y > high ? y : high;
  store<W>(lanes.low + at, low);
  store<W>(lanes.high + at, high);
  if (!(lesson.weight > 0)) return;
  const F p = within<W>(sum, low, high);
  const F d = p - y;
  const I active = live & (d * d > 0.0F);
  if (!any<W>(active)) return;
  const F gradient = lesson.weight * (4.0F * d * d);
  const I rated = active & (gradient != 0.0F);

  F nx = {};
  F per = {};
  each_part<W>(
      lesson, at,
      [&](Segments segments) { rate_features<W>(passes, segments, at, gradient, rated, nx, per); },
      [&](const Part& part, std::size_t lane) {
        if (rated[lane] == 0) return;
        float lane_nx = nx[lane];
        float lane_per = per[lane];
        const float lane_gradient = gradient[lane];
        const float seed = seed_of(passes, part.mask, at + lane);
        each_narrow(lesson, part, [&](const Weight& weight, float x) {
          weight.rate_root(x, lane_gradient, seed, lane_nx, lane_per);
        });
        nx[lane] = lane_nx;
        per[lane] = lane_per;
      });

  D norms;
  D total;
  std::memcpy(&norms, lanes.sum_norm_x + at, sizeof norms);
  std::memcpy(&total, lanes.total_weight + at, sizeof total);
  norms += static_cast<double>(lesson.weight) * __builtin_convertvector(only<W>(nx, rated), D);
  total += __builtin_convertvector(only<W>((F){} + lesson.weight, rated), D);
  std::memcpy(lanes.sum_norm_x + at, &norms, sizeof norms);
  std::memcpy(lanes.total_weight + at, &total, sizeof total);
  F multiplier =
      square_root<W>(__builtin_convertvector(total, F) / __builtin_convertvector(norms, F));
  multiplier = rated ? multiplier : load<W>(lanes.multiplier + at);
  store<W>(lanes.multiplier + at, multiplier);
  per = rated ? per * multiplier : (F){} + 1.0F;
  const F scale = load<W>(lanes.learning_rate + at) * lesson.weight;
  const F e = exp_negative<W>(-2.0F * scale * per);
  static_assert(static_cast<double>(1e-6F) < 1e-6);  // so this is VW's comparison in doubles
  F update = scale * per <= 1e-6F ? 2.0F * (y - p) * scale : (y - p) * (1.0F - e) / per;
  const I moving = active & (update == update) & (update != 0.0F);
  update = update * multiplier;

  each_part<W>(
      lesson, at,
      [&](Segments segments) { train_features<W>(passes, segments, at, update, moving); },
      [&](const Part& part, std::size_t lane) {
        if (moving[lane] == 0) return;
        const float step = update[lane];
        each_narrow(lesson, part, [&](const Weight& weight, float x) { weight.train(x, step); });
      });
}

struct Learn {
  const Lesson& lesson;
  template <int W>
  void run(std::size_t at) {
    learn_lanes<W>(lesson, at);
  }
};

void charge(const Charges& charges) {
  for (std::size_t i = 0; i < charges.count; ++i) {
    const double p = charges.raw[i];
    const double raised = p > charges.low ? p : charges.low;  // max and min as Python's
    const double clipped = charges.high < raised ? charges.high : raised;
    const double loss = p != p ? charges.high - charges.low : std::fabs(clipped - charges.y);
    charges.n[i] += 1.0;
    charges.total[i] += charges.weight * loss;
    charges.weights[i] += charges.weight;
  }
}

void bound(const Bounds& bounds) {
  for (std::size_t i = 0; i < bounds.count; ++i) {
    const double n = bounds.n[i];
    const double mean = bounds.total[i] / bounds.weights[i];
    const double epsilon = bounds.a * std::sqrt(bounds.d[i] * bounds.log[i] / n);
    bounds.mean[i] = bounds.weights[i] > 0 ? mean : 0.0;
    bounds.epsilon[i] = n > 0 ? epsilon : std::numeric_limits<double>::infinity();
  }
}

void learn(const Lesson& lesson) { by_lanes(lesson.passes.width, Learn{lesson}); }

}  // namespace
}  // namespace CHACHA_KERNEL
}  // namespace chacha
