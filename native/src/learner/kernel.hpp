// The three passes over the features of one example, for all models at once.
//
// Weights lie interleaved: a place holds, for each of `width` lanes (models), the weight, the
// adaptive sum, the norm and the rate: [w × width][adaptive × width][norm × width][rate × width].
// A vector of lanes is worked on at a time; a mask tells which models use a feature.
// The passes are compiled more than once, for different machines, to the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chacha {

constexpr float kXMin = 1.084202e-19F;  // VW: smaller values count as this
constexpr float kX2Min = kXMin * kXMin;

// What one lane (model) needs in the passes.
struct LaneRates {
  float neg_power_t = -0.5F;
  float neg_norm_power = -0.5F;
  bool square_root = true;  // power_t is 0.5
};

// A stretch of features that the same models use.
struct Segment {
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t mask;  // which of the masks
};

struct Segments {
  const Segment* first;
  const Segment* last;  // one behind it
  const Segment* begin() const { return first; }
  const Segment* end() const { return last; }
};

// A part of an example's features, in VW's order: wide segments, or narrow ones of one lane.
struct Part {
  std::uint32_t begin, end;
  std::int64_t owner;  // -1: `begin` and `end` count wide segments
  std::uint32_t mask;  // of the product, if narrow
};

constexpr std::uint32_t kInWide = 0x80000000U;  // a narrow feature that has a wide place after all

struct Passes {
  float* table;                 // the places
  std::size_t width;            // lanes, a multiple of 4
  const std::uint32_t* places;  // of the features
  const float* values;
  const std::int32_t* masks;  // width each, 0 or -1
  const float* seeds;         // width for each mask: what damps a lane's first steps there; null: nothing
  const LaneRates* rates;
  bool all_square_root;
};

// The narrow features of an example, and where each lane keeps them.
struct NarrowPasses {
  const std::uint32_t* places;
  const float* values;
  float* const* cells;  // by lane
};

// What models learn with, by lane.
struct LaneArrays {
  float* low;  // the label range, as VW keeps it
  float* high;
  double* sum_norm_x;
  double* total_weight;
  float* multiplier;
  const float* learning_rate;
};

// All that is needed to learn one example.
struct Lesson {
  Passes passes;
  NarrowPasses narrow;
  LaneArrays lanes;
  const Segment* segments;
  const Part* parts;
  std::size_t part_count;
  float label, weight, initial;
  float* predictions;  // what comes out
};

// The clipped absolute error of some predictions, added to what was lost before.
struct Charges {
  const double* raw;
  std::size_t count;
  double y, low, high, weight;
  double *n, *total, *weights;
};

// Means and their bounds: epsilon = a·√(d·log/n).
struct Bounds {
  const double *n, *total, *weights, *d, *log;
  double a;
  std::size_t count;
  double *mean, *epsilon;
};

struct Kernel {
  const char* name;
  // sums[lane] += w · x; with `gravity`, w is first pulled towards 0 by gravity[lane].
  void (*dot)(const Passes&, Segments, const float* gravity, float* sums);
  // Adaptive sums, norms and rates of lanes with active != 0; adds to norm_x and per_update.
  void (*rate)(const Passes&, Segments, const float* gradient2, const std::int32_t* active, float* norm_x,
               float* per_update);
  // w += update · (x · rate) for lanes with active != 0.
  void (*train)(const Passes&, Segments, const float* update, const std::int32_t* active);
  // Predicts and learns: all of the above at once, for lanes with VW's defaults (squared loss,
  // power_t 0.5, no l1 and l2), whatever their learning rates.
  void (*learn)(const Lesson&);
  void (*charge)(const Charges&);
  void (*bound)(const Bounds&);
};

extern const Kernel kPlainKernel;
#if defined(__x86_64__)
extern const Kernel kAvx2Kernel;
extern const Kernel kAvx512Kernel;
#endif

// The best kernel this machine can run, or the one of that name; null if it cannot run here.
const Kernel* best_kernel();
const Kernel* kernel_named(const char* name);

}  // namespace chacha
