#include "learner/bank.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "learner/weight.hpp"

namespace chacha {
namespace {

constexpr std::size_t kFewestLanes = 4;
constexpr std::size_t kVector = 8;

std::size_t next_width(std::size_t width) { return (width / kVector + 1) * kVector; }

// The state of an empty model.
ModelState first_state(const Options& options) {
  ModelState state;
  state.sum_norm_x = state.total_weight = options.initial_t;
  state.high = options.loss.first_label_bound();
  state.low = 0.0F - state.high;  // -0 would be served where VW serves 0
  return state;
}

}  // namespace

Bank::Bank(int bits, const Groups& groups, const Kernel* kernel)
    : groups_(groups),
      places_(bits, kFewestLanes),
      expander_(groups, products_, places_),
      grid_(groups, products_, places_),
      trainer_(kernel, lanes_, products_, places_),
      current_(&expander_.expansion()) {
  lanes_.reserve(kFewestLanes);
  trainer_.reserve(kFewestLanes);
  collect_products();
}

std::uint32_t Bank::free_lane() {
  const std::size_t width = places_.width();
  const std::uint32_t lane = lanes_.free_lane(width);
  if (lane < width) return lane;
  const std::size_t wider = next_width(width);
  if (wider > kMostLanes) {
    throw std::length_error("no lane is left for another model: at most " +
                            std::to_string(kMostLanes) +
                            " can be live at once (fewer groups have fewer products)");
  }
  lanes_.reserve(wider);
  trainer_.reserve(wider);
  places_.widen(wider);
  outdated_ = true;
  return lane;
}

// Sums that have left the range of numbers damp nothing.
std::vector<float> Bank::seeds_of(const std::vector<GroupList>& products, std::uint32_t from,
                                  float damping) const {
  std::vector<float> seeds;
  if (!(damping > 0.0F)) return seeds;
  const Lanes::Model& source = lanes_.model(from);
  const float seed = damping * places_.squared_gradients(from, source.options.constant);
  if (!(seed > 0.0F) || std::isinf(seed)) return seeds;
  bool any = false;
  for (const GroupList& product : products) {
    const auto& all = source.products;
    const bool fresh = std::find(all.begin(), all.end(), product) == all.end();
    seeds.push_back(fresh ? seed : 0.0F);
    any |= fresh;
  }
  return any ? seeds : std::vector<float>();
}

std::uint32_t Bank::start(const Options& options, std::vector<GroupList> products, int from,
                          float damping) {
  const auto before = [this](std::uint32_t a, std::uint32_t b) {
    return std::pair(groups_.letter(a), groups_.seed(a)) <
           std::pair(groups_.letter(b), groups_.seed(b));
  };
  for (GroupList& product : products) std::stable_sort(product.begin(), product.end(), before);
  const std::uint32_t lane = free_lane();
  if (from < 0) {
    NarrowWeights narrow(options.initial_t);
    // From here on nothing throws.
    const ModelState state = first_state(options);
    places_.start(lane, std::move(narrow));
    lanes_.start(lane, {options, std::move(products), {}}, state, 0.0F);
  } else {
    const auto source = static_cast<std::uint32_t>(from);
    NarrowWeights narrow = places_.narrow_copy(source, options.initial_t);
    std::vector<float> seeds = seeds_of(products, source, damping);
    // From here on nothing throws.
    places_.copy(lane, source, std::move(narrow));
    lanes_.start(lane, {options, std::move(products), std::move(seeds)}, lanes_.state(source),
                 lanes_.multiplier(source));
  }
  outdated_ = true;
  return lane;
}

void Bank::restart(std::uint32_t lane) {
  places_.clear(lane);
  lanes_.restart(lane, first_state(lanes_.options(lane)));
  outdated_ = true;
}

void Bank::undamp(std::uint32_t lane) noexcept {
  lanes_.undamp(lane);
  products_.undamp(lane, lanes_.any_damped());
}

void Bank::stop(std::uint32_t lane) {
  places_.stop(lane);
  lanes_.stop(lane);
  outdated_ = true;
}

// May throw; then it is still to be done.
void Bank::collect_products() {
  if (!outdated_) return;
  products_.collect(lanes_, groups_, places_.width());
  expander_.invalidate();
  outdated_ = false;
}

void Bank::expand(const Example& example, bool learning, bool again) {
  collect_products();
  if (places_.crowded() && places_.make_crowded_direct()) expander_.invalidate();
  current_ = &expander_.expansion();
  if (expander_.expand(example, learning, again)) ++expansion_;
}

bool Bank::lay_out(const std::vector<TablePart>& parts, std::uint64_t table) {
  collect_products();
  if (!grid_.current(table)) {
    expander_.invalidate();  // indices may move
    grid_.lay_out(parts, table);
  }
  return grid_.usable();
}

void Bank::expand_row(const Example& example, const std::uint32_t* columns) {
  expander_.invalidate();
  ++expansion_;
  current_ = &grid_.expansion();
  grid_.expand(example, columns);
}

void Bank::load(std::uint32_t lane, const Dump& weights) {
  collect_products();
  expander_.invalidate();
  places_.load(lane, weights);
}

std::size_t Bank::bytes() const {
  return lanes_.bytes() + products_.bytes() + places_.bytes() + expander_.bytes() + grid_.bytes() +
         trainer_.bytes();
}

}  // namespace chacha
