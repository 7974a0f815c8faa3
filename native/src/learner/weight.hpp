// One weight of one model, and how one feature's value changes it: VW's rules, feature by feature.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstddef>

#include "base/mathf.hpp"
#include "learner/kernel.hpp"

namespace chacha {

constexpr float kNoGravity = -1.0F;      // of a model without l1
constexpr std::size_t kMostLanes = 256;  // of one bank

// The square and the absolute value of a feature's value, with VW's lower limits.
struct Scaled {
  float square;
  float size;
  bool beyond;  // the square is too large for a float
  CHACHA_INLINE explicit Scaled(float x)
      : square(x * x), size(std::fabs(x)), beyond(square > FLT_MAX) {
    if (square < kX2Min) {
      square = kX2Min;
      size = kXMin;
    }
  }
};

// Return the seed that damps the first steps of a lane on the coordinates of a product; 0: none.
CHACHA_INLINE float seed_of(const Passes& passes, std::uint32_t mask, std::size_t lane) {
  return passes.seeds == nullptr ? 0.0F : passes.seeds[mask * passes.width + lane];
}

// A weight in a place of stride `stride`: w, adaptive sum, norm, rate.
struct Weight {
  float* at;
  std::size_t stride;

  CHACHA_INLINE float& w() const { return at[0]; }
  CHACHA_INLINE float& adaptive() const { return at[stride]; }
  CHACHA_INLINE float& norm() const { return at[2 * stride]; }
  CHACHA_INLINE float& rate() const { return at[3 * stride]; }

  // Return w, pulled towards 0 by `gravity` (l1).
  CHACHA_INLINE float pulled(float gravity) const {
    const float value = w();
    if (gravity < 0.0F) return value;
    if (!(gravity < std::fabs(value))) return 0.0F;
    return value - (value <= 0.0F ? -1.0F : 1.0F) * gravity;
  }

  // power_t is 0.5. A `seed` counts as squared gradients that were seen before the first value.
  CHACHA_INLINE void rate_root(float value, float gradient2, float seed, float& norm_x,
                               float& per_update) const {
    const Scaled x(value);
    const float before = adaptive();
    adaptive() = before + gradient2 * x.square;
    if (x.size > norm()) {
      if (norm() > 0.0F) {
        w() *= norm() / x.size;
      } else if (seed > 0.0F) {
        adaptive() = (before + seed * x.square) + gradient2 * x.square;
      }
      norm() = x.size;
    }
    norm_x += x.beyond ? 1.0F : x.square / (norm() * norm());
    rate() = (1.0F / std::sqrt(adaptive())) * (1.0F / norm());
    per_update += x.square * rate();
  }

  // Any other power_t.
  CHACHA_INLINE void rate_power(float value, float gradient2, float seed, const LaneRates& lane,
                                float& norm_x, float& per_update) const {
    const Scaled x(value);
    const float before = adaptive();
    adaptive() = before + gradient2 * x.square;
    if (x.size > norm()) {
      if (norm() > 0.0F) {
        const float rescale = x.size / norm();
        w() *= pow32(rescale * rescale, lane.neg_norm_power);
      } else if (seed > 0.0F) {
        adaptive() = (before + seed * x.square) + gradient2 * x.square;
      }
      norm() = x.size;
    }
    norm_x += x.beyond ? 1.0F : x.square / (norm() * norm());
    float decay = pow32(adaptive(), lane.neg_power_t);
    decay *= pow32(norm() * norm(), lane.neg_norm_power);
    rate() = decay;
    per_update += x.square * decay;
  }

  CHACHA_INLINE void train(float value, float update) const {
    if (value < FLT_MAX && value > -FLT_MAX) w() += update * (value * rate());
  }
};

// The weights of a lane's narrow features. Whether one lies in the lane's cells or in the wide
// table cannot be predicted, so the table is indexed by it, without a branch.
class LaneWeights {
 public:
  CHACHA_INLINE LaneWeights(float* cells, float* table, std::size_t width, std::size_t lane)
      : tables_{cells, table + lane}, strides_{1, width} {}
  CHACHA_INLINE Weight operator[](std::uint32_t place) const {
    const std::size_t wide = place / kInWide;
    return {tables_[wide] + std::size_t{place % kInWide} * 4 * strides_[wide], strides_[wide]};
  }

 private:
  float* tables_[2];
  std::size_t strides_[2];
};

}  // namespace chacha
