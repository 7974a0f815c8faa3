// A bank: live models with the same number of bits, which learn together.
//
// What all models use (single features, the constant, products of two or more models) has places
// in one wide table, where the weights of the models lie interleaved. A large product that one
// model alone uses lies in the narrow table of that model: else its many features would drag the
// lanes of all the others through the cache. An index has one weight per model, wherever it lies,
// so that collisions are VW's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/example.hpp"
#include "learner/expander.hpp"
#include "learner/kernel.hpp"
#include "learner/lanes.hpp"
#include "learner/live_products.hpp"
#include "learner/model.hpp"
#include "learner/places.hpp"
#include "learner/table_grid.hpp"
#include "learner/trainer.hpp"

namespace chacha {

class Bank {
 public:
  using TablePart = TableGrid::Part;

  Bank(int bits, const Groups& groups, const Kernel* kernel);
  Bank(const Bank&) = delete;  // its parts refer to each other
  Bank& operator=(const Bank&) = delete;

  // Give a new model a lane: empty, or with the weights and the state of the model in `from`.
  // `damping` is of copies: on a coordinate that it meets first in a product that `from` does not
  // have, the copy starts as if it had seen `damping` times the squared gradients of the constant.
  std::uint32_t start(const Options& options, std::vector<GroupList> products, int from = -1,
                      float damping = 0.0F);
  // Let a damped copy learn undamped from now on.
  void undamp(std::uint32_t lane) noexcept;
  void stop(std::uint32_t lane);
  // Make the model of a lane empty again. May throw; then it can be called again.
  void restart(std::uint32_t lane);

  std::uint32_t live() const { return static_cast<std::uint32_t>(lanes_.live().size()); }
  int bits() const { return places_.bits(); }
  // Lanes that there is room for: a multiple of 4, to which predictions and labels are padded.
  std::size_t width() const { return places_.width(); }

  // Find the places of all features of an example. With `learning` new ones are given a place;
  // without, those that were never learned share one that stays zero. May throw, and changes no
  // prediction. `again`: the example has the features of the last one, with other values.
  void expand(const Example& example, bool learning, bool again = false);
  // The same for rows of a table of numbers, where every column has one feature: the places of
  // all that its columns and their products can give are looked up once. `table` identifies the
  // table. Returns whether its rows can be expanded this way.
  bool lay_out(const std::vector<TablePart>& parts, std::uint64_t table);
  // For an example of that table; `columns` has the number of the column of each feature.
  void expand_row(const Example& example, const std::uint32_t* columns);
  // Write what every live model predicts for the expanded example, by lane.
  void predict(const Example& example, float* predictions) noexcept {
    trainer_.predict(example, *current_, predictions);
  }
  // As `predict`, then every live model learns it. Needs expand(example, true).
  void learn(const Example& example, float* predictions) noexcept {
    trainer_.learn(example, *current_, predictions);
  }
  // The same with one label for each lane instead of the example's: `labels` has `width()` of
  // them. Those of lanes without a model do not matter.
  void learn(const Example& example, const float* labels, float* predictions) noexcept {
    trainer_.learn(example, *current_, labels, predictions);
  }

  Dump dump(std::uint32_t lane) const { return places_.dump(lane); }
  void load(std::uint32_t lane, const Dump& weights);
  ModelState state(std::uint32_t lane) const { return lanes_.state(lane); }
  void set_state(std::uint32_t lane, const ModelState& state) { lanes_.set_state(lane, state); }

  // Changes whenever an example had other features than the one before, derived ones aside.
  std::uint64_t expansion() const { return expansion_; }
  // The group that a single feature was first seen in, by its number in the expanded example.
  std::uint32_t& first_group(std::size_t feature) {
    return places_.first_group(current_->places[feature]);
  }
  std::size_t features() const { return current_->features(); }
  std::size_t bytes() const;  // beside the object itself
  const Kernel* kernel() const { return trainer_.kernel(); }

 private:
  std::uint32_t free_lane();
  std::vector<float> seeds_of(const std::vector<GroupList>& products, std::uint32_t from,
                              float damping) const;
  void collect_products();

  const Groups& groups_;
  Lanes lanes_;
  LiveProducts products_;
  Places places_;
  Expander expander_;
  TableGrid grid_;
  Trainer trainer_;

  bool outdated_ = true;      // models came or went since the products were collected
  const Expansion* current_;  // of the expander or of the grid
  std::uint64_t expansion_ = 0;
};

}  // namespace chacha
