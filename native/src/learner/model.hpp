// A model as a bank sees it: options, state and weights.
#pragma once

#include <cstdint>
#include <vector>

#include "vw/losses.hpp"

namespace chacha {

// Options of a model, with VW's names and defaults.
struct Options {
  float learning_rate = 0.5F;
  float power_t = 0.5F;
  float initial_t = 0.0F;
  float l1 = 0.0F;
  float l2 = 0.0F;
  TrainingLoss loss;
  bool constant = true;
};

// What VW stores of a model besides its weights.
struct ModelState {
  double sum_norm_x = 0.0;
  double total_weight = 0.0;
  float low = 0.0F;
  float high = 0.0F;
  double gravity = 0.0;
  double contraction = 1.0;
};

// The weights of a model, one entry per index.
struct Dump {
  std::vector<std::uint32_t> index;
  std::vector<float> w, adaptive, norm;
};

// The groups of a product, by number. A list of one group is a derived group.
using GroupList = std::vector<std::uint32_t>;

}  // namespace chacha
