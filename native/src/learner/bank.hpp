// A bank: live models with the same number of bits, whose weights lie interleaved.
//
// What all models use (single features, the constant, products of two or more models) has places
// in one wide table. A product that one model alone uses is kept narrow, in that model's own
// table: else its many features would drag the lanes of all the others through the cache.
// An index has one weight per model, wherever it is kept, so that collisions are VW's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "data/example.hpp"
#include "base/index_map.hpp"
#include "learner/kernel.hpp"
#include "vw/training_losses.hpp"

namespace chacha {

// One model's options: VW's names and defaults.
struct Options {
  float learning_rate = 0.5F;
  float power_t = 0.5F;
  float initial_t = 0.0F;
  float l1 = 0.0F;
  float l2 = 0.0F;
  float tau = 0.5F;
  LossKind loss = LossKind::kSquared;
  bool constant = true;
};

// What VW keeps of a model besides its weights.
struct ModelState {
  double sum_norm_x = 0.0;
  double total_weight = 0.0;
  float low = 0.0F;
  float high = 0.0F;
  double gravity = 0.0;
  double contraction = 1.0;
};

struct Dump {
  std::vector<std::uint32_t> index;
  std::vector<float> w, adaptive, norm;
};

using GroupList = std::vector<std::uint32_t>;  // a product: the numbers of its groups; of one: a derived group

class Bank {
 public:
  Bank(int bits, const Groups& groups, const Kernel* kernel);
  Bank(const Bank&) = delete;
  Bank& operator=(const Bank&) = delete;

  // Gives a new model a lane: empty, or with the weights and the state of the model in `from`.
  // `damping` is of copies: on a coordinate that it meets first in a product that `from` does not
  // have, the copy starts as if it had seen so many times the squared gradients of the constant.
  std::uint32_t start(const Options& options, std::vector<GroupList> products, int from = -1, float damping = 0.0F);
  // From now on a copy learns undamped.
  void settle(std::uint32_t lane) noexcept;
  void stop(std::uint32_t lane);

  std::uint32_t live() const;
  int bits() const { return bits_; }

  // Finds the places of all features of an example. With `learning` new ones are given a place;
  // without, those that were never learned share one that stays zero. May throw, and changes no
  // prediction. `again`: the example has the features of the last one, with other values.
  void expand(const Example& example, bool learning, bool again = false);
  // The same for rows of a table of numbers, where every column has one feature: the places of
  // all that its columns and their products can give are looked up once. `parts` has the groups
  // and the hashes of their columns; `table` tells tables apart. False if it is not worth while.
  struct TablePart {
    std::uint32_t group;
    std::vector<std::uint32_t> hashes;
  };
  bool lay_out(const std::vector<TablePart>& parts, std::uint64_t table);
  // For an example of that table; `columns` has the number of the column of each feature.
  void expand_row(const Example& example, const std::uint32_t* columns);
  // What every live model predicts for the expanded example, by lane.
  void predict(const Example& example, float* predictions);
  // As `predict`, then every live model learns it. Needs expand(example, true). Does not throw.
  void learn(const Example& example, float* predictions) noexcept;

  Dump dump(std::uint32_t lane) const;
  void load(std::uint32_t lane, const Dump& weights);
  ModelState state(std::uint32_t lane) const;
  void set_state(std::uint32_t lane, const ModelState& state);

  // Changes whenever `expand` met other features than before, derived ones aside.
  std::uint64_t expansion() const { return expansion_; }
  // The group that a single feature was first seen in, by its number in the expanded example.
  std::uint32_t& first_group(std::size_t feature) { return first_group_[places_[feature]]; }
  std::size_t features() const { return values_.size() + narrow_values_.size(); }
  std::size_t bytes() const;
  const Kernel* kernel() const { return kernel_; }

 private:
  struct Narrow {
    IndexMap index;
    std::vector<float, Aligned<float>> cells;  // w, adaptive, norm, rate of each
    bool direct = false;       // a cell for every index there can be, once many are used

    std::uint32_t find(std::uint32_t number) const {
      if (direct) return number;
      return index.size() > 0 ? index.find(number) : IndexMap::kNone;
    }
    template <class Visit>
    void each(Visit visit) const {
      if (!direct) {
        index.each(visit);
        return;
      }
      const auto count = static_cast<std::uint32_t>(cells.size() / 4);
      for (std::uint32_t number = 0; number < count; ++number) visit(number, number);
    }
  };
  struct Lane {
    Options options;
    double gravity = 0.0;  // the rest of the state stands by lane
    double contraction = 1.0;
    bool live = false;
    bool used = false;  // since its column was clean
    std::vector<GroupList> products;
    std::vector<float> seeds;  // of the products; none: all are 0
    Narrow narrow;
  };
  struct Product {
    GroupList groups;
    std::int64_t owner;  // the lane that alone uses it, or -1
    std::uint32_t mask;
  };
  struct Range {
    std::uint32_t begin, end;
  };
  // Most are of one group, of two features, or of two groups.
  enum class Form : std::uint32_t { kSingle, kPair, kTwo, kOther };
  struct Recipe {  // the values of some features: the products of ranges of single ones
    std::uint32_t first;   // of its ranges
    std::uint32_t length;  // how many
    std::uint32_t at;      // its first feature
    Form form;
    std::int64_t owner;  // the lane that keeps them narrow, or -1
  };
  static Form form_of(const Range* ranges, std::uint32_t length);
  class Choices;

  struct Cross {  // the product of two groups of columns
    std::uint32_t left_group, right_group, left, right, width, mask;
    std::vector<std::uint32_t> places;
  };
  struct Grid {
    std::uint64_t table = 0, plan = 0;
    bool usable = false;
    std::uint32_t constant = 0;
    std::vector<std::uint32_t> single;
    std::vector<Cross> crosses;
  };

  bool fill_grid(const std::vector<TablePart>& parts);
  std::uint32_t free_lane();
  void widen(std::size_t width);
  void reserve(std::size_t places);
  void rebuild();
  float squared_gradients(std::uint32_t lane) const;
  std::vector<float> seeds_of(const std::vector<GroupList>& products, std::uint32_t from, float damping) const;
  void clean(std::uint32_t lane);
  std::uint32_t add_place(std::uint32_t index);
  std::uint32_t wide_place(std::uint32_t index, bool learning);
  std::uint32_t place_of(std::uint32_t index, bool learning);
  std::uint32_t new_place(std::uint32_t index, bool learning);
  bool in_narrow(std::uint32_t index) const;
  void mark_wide(std::uint32_t index) { wide_bits_[index >> 6] |= std::uint64_t{1} << (index & 63U); }
  void grow_narrow() noexcept;
  void make_direct(Lane& lane);
  std::uint32_t narrow_place(std::uint32_t index, std::uint32_t lane, bool learning);
  bool same_shape(const Example& example) const;
  void renew(const Example& example, bool learning);
  void refresh(const Example& example, bool learning);
  void resolve(const Recipe& recipe, const Example& example, bool learning);
  void resolve_direct(const Recipe& recipe, const Example& example);
  void write_singles(const Example& example);
  void write_derived(const Example& example, std::size_t& wide);
  void write_recipes(const Example& example, std::size_t wide);
  void write_recipe(const Product& product, const Example& example, bool several, std::size_t& wide,
                    std::size_t& narrow);
  void order_parts();
  void cook(const Example& example);
  Passes passes() const;
  Segments wide(const Part& part) const { return {segments_.data() + part.begin, segments_.data() + part.end}; }
  void dot(const Example& example);
  void rate(const std::int32_t* active);
  void train(const std::int32_t* active);
  void learn_any(const Example& example, float* predictions);
  void update_lanes(const Example& example);
  void look_at_options();
  void synchronise(std::uint32_t lane);

  template <class Visit>
  void each_narrow(const Part& part, Visit visit) const;

  int bits_;
  std::uint32_t mask_;
  const Groups& groups_;
  const Kernel* kernel_;

  std::size_t width_ = 0;
  AlignedFloats table_;
  std::uint32_t used_ = 1;  // place 0 stays zero: what was never learned
  IndexMap wide_;
  std::vector<std::uint64_t> wide_bits_;  // a bit for every index with a wide place, once it pays
  bool crowded_ = false;                  // a narrow table has many cells
  std::vector<std::uint32_t> index_of_;     // of the places
  std::vector<std::uint32_t> first_group_;  // 1 + the group of the first single feature there
  std::vector<Lane> lanes_;
  bool stale_ = false;  // models came or went since what follows was made
  std::vector<std::uint32_t> live_;
  std::vector<Product> products_;
  std::vector<std::uint32_t> mask_of_group_;  // of derived groups; 0: no live model has it
  std::vector<std::int32_t> masks_;
  std::vector<float> seeds_;  // laid out as the masks; empty if nothing is damped
  std::vector<LaneRates> rates_;
  bool all_square_root_ = true;
  bool any_gravity_ = false;
  bool plain_ = true;  // all live lanes have VW's defaults, but for their learning rates
  bool all_constant_ = true;

  // The expanded example.
  Pod<std::uint32_t> places_;
  Pod<float> values_;
  Pod<std::uint32_t> narrow_places_;
  Pod<float> narrow_values_;
  Pod<std::uint32_t> noted_;  // features, for work; one more than there are narrow ones
  struct Piece {
    Segment segment;
    std::int64_t owner;
  };
  std::vector<Piece> pieces_;      // one for each product and derived group, and for single features
  struct DerivedPiece {
    Piece piece;
    unsigned char letter;
  };
  std::vector<DerivedPiece> derived_;  // those of the example at hand
  std::vector<Segment> segments_;  // the wide ones
  std::vector<Part> parts_;
  std::vector<Range> ranges_;
  std::vector<Recipe> recipes_;
  Pod<std::uint32_t> changed_;  // features that differ from the last example's, before each
  bool moved_ = false;         // an index moved from a narrow place to a wide one
  std::vector<Range> recipe_ranges_;
  std::vector<std::uint32_t> run_of_;  // by group: 1 + its first run in this example
  std::uint64_t expansion_ = 0;
  std::uint64_t plan_ = 0;  // changes with the live models
  Grid grid_;
  bool complete_ = false;  // every feature has a place
  Pod<std::uint32_t> last_hashes_;
  Pod<Run> last_runs_;

  // The state of the models, by lane.
  std::vector<float> low_, high_, multiplier_, learning_rate_;
  std::vector<double> sum_norm_x_, total_weight_;
  std::vector<float*> cells_;

  // By lane, for the example at hand.
  std::vector<float> sums_, gravity_, clipped_, gradient2_, norm_x_, per_update_, update_;
  std::vector<std::int32_t> active_, rated_;
};

}  // namespace chacha
