// The three passes over the features of one example, for all models at once.
//
// Weights lie interleaved: a place holds, for each of `width` lanes (models), the weight, the
// adaptive sum, the norm and the rate: [w × width][adaptive × width][norm × width][rate × width].
// The passes process a vector of lanes at a time; a mask says which models use a feature.
// They are compiled once per machine type, and give the same bits on each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chacha {

constexpr float kXMin = 1.084202e-19F;  // VW: smaller values count as this
constexpr float kX2Min = kXMin * kXMin;

// Exponents of the rates of one lane (model).
struct LaneRates {
  float neg_power_t = -0.5F;
  float neg_norm_power = -0.5F;
  bool square_root = true;  // power_t is 0.5
};

// Neighbouring features that the same models use.
struct Segment {
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t mask;  // number of the mask
};

struct Segments {
  const Segment* first;
  const Segment* last;  // one past it
  const Segment* begin() const { return first; }
  const Segment* end() const { return last; }
};

// A part of an example's features: wide segments, or narrow features of one lane.
struct Part {
  std::uint32_t begin, end;
  std::int64_t owner;  // -1: `begin` and `end` count wide segments
  std::uint32_t mask;  // of the product, if narrow
};

constexpr std::uint32_t kInWide = 0x80000000U;  // marks a narrow feature whose weights are wide

struct Passes {
  float* table;                 // the places
  std::size_t width;            // lanes, a multiple of 4
  const std::uint32_t* places;  // of the features
  const float* values;
  const std::int32_t* masks;  // width each, 0 or -1
  const float* seeds;  // laid out as the masks, damp the first steps of a lane; null: none do
  const LaneRates* rates;
  bool all_square_root;
};

// The narrow features of an example, and the narrow table of each lane.
struct NarrowPasses {
  const std::uint32_t* places;
  const float* values;
  float* const* cells;  // by lane
};

// The state of the models, by lane.
struct LaneArrays {
  float* low;  // the label range, as in VW
  float* high;
  double* sum_norm_x;
  double* total_weight;
  float* multiplier;
  const float* learning_rate;
};

// One example to learn, and the models that learn it.
struct Lesson {
  Passes passes;
  NarrowPasses narrow;
  LaneArrays lanes;
  const Segment* segments;
  const Part* parts;
  std::size_t part_count;
  const float* labels;  // by lane, `width` of them
  float weight, initial;
  float* predictions;  // by lane, written
};

// Predictions whose clipped absolute errors are added to their totals.
struct Charges {
  const double* raw;
  std::size_t count;
  double y, low, high, weight;
  double *n, *total, *weights;
};

// Mean losses and their bounds: epsilon = a·√(d·log/n).
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
  void (*rate)(const Passes&, Segments, const float* gradient2, const std::int32_t* active,
               float* norm_x, float* per_update);
  // w += update · (x · rate) for lanes with active != 0.
  void (*train)(const Passes&, Segments, const float* update, const std::int32_t* active);
  // Predicts and learns: all of the above at once, for lanes with VW's defaults (squared loss,
  // power_t 0.5, no l1, no l2) and any learning rate.
  void (*learn)(const Lesson&);
  void (*charge)(const Charges&);
  void (*bound)(const Bounds&);
};

extern const Kernel kPlainKernel;
#if defined(__x86_64__)
extern const Kernel kAvx2Kernel;
extern const Kernel kAvx512Kernel;
#endif

// Return the best kernel for this machine, or the one of that name; null if it cannot run here.
const Kernel* best_kernel();
const Kernel* kernel_named(const char* name);

}  // namespace chacha
