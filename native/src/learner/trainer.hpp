// Predicting and learning an expanded example with all models of a bank, in VW's three passes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/example.hpp"
#include "learner/expansion.hpp"
#include "learner/kernel.hpp"
#include "learner/lanes.hpp"
#include "learner/live_products.hpp"
#include "learner/places.hpp"

namespace chacha {

// Between the passes over the features, what a model does is decided lane by lane.
class Trainer {
 public:
  Trainer(const Kernel* kernel, Lanes& lanes, const LiveProducts& products, Places& places);

  // Make room for lanes. May throw, and changes nothing else.
  void reserve(std::size_t width);

  // Write the prediction of every live model, by lane.
  void predict(const Example& example, const Expansion& features, float* predictions) noexcept;
  // The same, then every live model learns the example with its label.
  void learn(const Example& example, const Expansion& features, float* predictions) noexcept {
    std::fill(labels_.begin(), labels_.end(), example.label);
    learn(example, features, labels_.data(), predictions);
  }
  // The same with a label for each lane instead of the example's, as many as there is room for.
  void learn(const Example& example, const Expansion& features, const float* labels,
             float* predictions) noexcept;

  const Kernel* kernel() const { return kernel_; }
  std::size_t bytes() const {
    return bytes_of(labels_, sums_, gravity_, clipped_, gradient2_, norm_x_, per_update_, update_,
                    active_, rated_, cells_);
  }

 private:
  Passes passes(const Expansion& features) const;
  template <class Visit>
  void each_narrow(const Part& part, const Expansion& features, Visit visit);

  // For models of any options; the kernel learns plain ones in one go.
  void learn_any(const Example& example, const Expansion& features, const float* labels,
                 float* predictions) noexcept;
  void dot(const Example& example, const Expansion& features);
  void rate(const Expansion& features);
  void train(const Expansion& features);
  void compute_gradients(float weight, const float* labels);
  void compute_updates(float weight, const float* labels);

  const Kernel* kernel_;
  Lanes& lanes_;
  const LiveProducts& products_;
  Places& places_;

  // By lane, for one example.
  std::vector<float> labels_;  // the example's, for all
  std::vector<float> sums_, gravity_, clipped_, gradient2_, norm_x_, per_update_, update_;
  std::vector<std::int32_t> active_;  // -1: the model has a loss, and learns
  std::vector<std::int32_t> rated_;   // -1: its gradient is not 0 either
  bool any_active_ = false, any_rated_ = false;
  std::vector<float*> cells_;
};

}  // namespace chacha
