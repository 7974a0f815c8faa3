#include "learner/bank.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>

#include "learner/weights.hpp"

namespace chacha {
namespace {

constexpr std::size_t kNarrowest = 4;  // lanes
constexpr std::size_t kVector = 8;

std::size_t next_width(std::size_t width) {
  return width < kNarrowest ? kNarrowest : (width / kVector + 1) * kVector;
}

}  // namespace

Bank::Bank(int bits, const Groups& groups, const Kernel* kernel)
    : bits_(bits),
      mask_(mask_of(bits)),
      groups_(groups),
      kernel_(kernel),
      index_of_(1),
      first_group_(1) {
  widen(kNarrowest);
  rebuild();
}

// All that may fail comes first: a bank is wider as a whole, or as it was.
void Bank::widen(std::size_t width) {
  AlignedFloats table(std::max<std::size_t>(16, std::size_t{used_} * 2) * 4 * width);
  std::vector<Lane> lanes(width);
  std::vector<std::int32_t> masks(width_ > 0 ? masks_.size() / width_ * width : 0);
  std::vector<float> seeds(width_ > 0 ? seeds_.size() / width_ * width : 0);
  std::vector<float>* floats[] = {&low_,     &high_,      &multiplier_, &learning_rate_, &sums_,  &gravity_,
                                  &clipped_, &gradient2_, &norm_x_,     &per_update_,    &update_};
  for (auto* array : floats) array->resize(width);
  for (auto* array : {&sum_norm_x_, &total_weight_}) array->resize(width);
  for (auto* array : {&active_, &rated_}) array->resize(width);
  cells_.resize(width);
  rates_.resize(width);
  for (std::size_t place = 0; place < used_; ++place) {
    for (std::size_t k = 0; k < 4; ++k) {
      const float* from = table_.get() + (place * 4 + k) * width_;
      std::copy(from, from + width_, table.get() + (place * 4 + k) * width);
    }
  }
  for (std::size_t at = 0; at < masks_.size(); ++at) masks[at / width_ * width + at % width_] = masks_[at];
  for (std::size_t at = 0; at < seeds_.size(); ++at) seeds[at / width_ * width + at % width_] = seeds_[at];
  std::move(lanes_.begin(), lanes_.end(), lanes.begin());
  lanes_ = std::move(lanes);
  table_ = std::move(table);
  masks_ = std::move(masks);
  seeds_ = std::move(seeds);
  width_ = width;
}

std::uint32_t Bank::free_lane() {
  for (std::uint32_t lane = 0; lane < width_; ++lane) {
    if (!lanes_[lane].live) return lane;
  }
  if (next_width(width_) > kMostLanes) {
    throw std::length_error("no lane is left for another model: at most " + std::to_string(kMostLanes) +
                            " can be live at once (fewer groups have fewer products)");
  }
  const auto lane = static_cast<std::uint32_t>(width_);
  widen(next_width(width_));
  return lane;
}

// The sum of the squared gradients that a model has seen: what its constant holds. Without a
// constant, what its weights hold on average, each as if all its values had been 1.
float Bank::squared_gradients(std::uint32_t lane) const {
  if (lanes_[lane].options.constant) {
    const std::uint32_t place = wide_.find(kConstant & mask_);
    if (place == IndexMap::kNone) return 0.0F;
    const Weight weight{table_.get() + std::size_t{place} * 4 * width_ + lane, width_};
    return weight.norm() > 0.0F ? weight.adaptive() : 0.0F;
  }
  const Dump weights = dump(lane);
  std::vector<std::size_t> order;  // by index, so that the sum is the same wherever weights are kept
  for (std::size_t i = 0; i < weights.index.size(); ++i) {
    if (weights.norm[i] > 0.0F) order.push_back(i);
  }
  const auto before = [&](std::size_t a, std::size_t b) { return weights.index[a] < weights.index[b]; };
  std::sort(order.begin(), order.end(), before);
  double sum = 0.0;
  for (const std::size_t i : order) {
    const auto norm = static_cast<double>(weights.norm[i]);
    sum += static_cast<double>(weights.adaptive[i]) / (norm * norm);
  }
  return order.empty() ? 0.0F : static_cast<float>(sum / static_cast<double>(order.size()));
}

// Sums that have left the range of numbers damp nothing.
std::vector<float> Bank::seeds_of(const std::vector<GroupList>& products, std::uint32_t from, float damping) const {
  const float seed = damping > 0.0F ? damping * squared_gradients(from) : 0.0F;
  std::vector<float> seeds;
  if (!(seed > 0.0F) || std::isinf(seed)) return seeds;
  const auto& known = lanes_[from].products;
  bool any = false;
  for (const GroupList& product : products) {
    const bool fresh = std::find(known.begin(), known.end(), product) == known.end();
    seeds.push_back(fresh ? seed : 0.0F);
    any |= fresh;
  }
  return any ? seeds : std::vector<float>();
}

std::uint32_t Bank::start(const Options& options, std::vector<GroupList> products, int from, float damping) {
  auto order = [this](std::uint32_t group) { return std::pair(groups_[group].letter, groups_[group].seed); };
  auto before = [&](std::uint32_t a, std::uint32_t b) { return order(a) < order(b); };
  for (GroupList& product : products) std::stable_sort(product.begin(), product.end(), before);
  const std::uint32_t number = free_lane();
  Lane& lane = lanes_[number];
  Lane fresh;
  fresh.options = options;
  fresh.products = std::move(products);
  fresh.live = fresh.used = true;
  ModelState state;
  float multiplier = 0.0F;
  if (from < 0) {
    state.sum_norm_x = state.total_weight = options.initial_t;
    state.high = first_label_bound(options.loss);
    state.low = 0.0F - state.high;  // -0 would be served where VW serves 0
  } else {
    state = this->state(static_cast<std::uint32_t>(from));
    multiplier = multiplier_[static_cast<std::size_t>(from)];
    fresh.narrow = lanes_[static_cast<std::size_t>(from)].narrow;
    fresh.seeds = seeds_of(fresh.products, static_cast<std::uint32_t>(from), damping);
  }
  const bool dirty = lane.used || options.initial_t > 0 || from >= 0;
  std::swap(lane, fresh);
  stale_ = true;
  multiplier_[number] = multiplier;
  set_state(number, state);
  if (!dirty) return number;
  if (from < 0) {
    clean(number);
  } else {
    for (std::size_t row = 0; row < std::size_t{used_} * 4; ++row) {
      table_.get()[row * width_ + number] = table_.get()[row * width_ + static_cast<std::size_t>(from)];
    }
  }
  return number;
}

void Bank::stop(std::uint32_t lane) {
  Lane stopped;
  stopped.used = true;
  std::swap(lanes_[lane], stopped);
  stale_ = true;
}

std::uint32_t Bank::live() const {
  return static_cast<std::uint32_t>(std::count_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.live; }));
}

void Bank::settle(std::uint32_t lane) noexcept {
  lanes_[lane].seeds.clear();
  for (std::size_t at = lane; at < seeds_.size(); at += width_) seeds_[at] = 0.0F;
  const auto damped = [this](std::uint32_t other) { return !lanes_[other].seeds.empty(); };
  if (std::none_of(live_.begin(), live_.end(), damped)) seeds_.clear();
}

void Bank::clean(std::uint32_t lane) {
  const float initial_t = lanes_[lane].options.initial_t;
  for (std::size_t place = 1; place < used_; ++place) {
    const Weight weight{table_.get() + place * 4 * width_ + lane, width_};
    weight.w() = weight.norm() = weight.rate() = 0.0F;
    weight.adaptive() = initial_t;
  }
}

// What the products of the live models have in common. May throw; then it is still to be done.
void Bank::rebuild() {
  struct Planned {
    Product product;
    std::vector<std::pair<std::uint32_t, std::size_t>> users;  // lanes, and its place among theirs
  };
  std::vector<std::uint32_t> live;
  std::vector<Planned> planned;
  std::map<GroupList, std::size_t> numbers;
  for (std::uint32_t lane = 0; lane < width_; ++lane) {
    if (!lanes_[lane].live) continue;
    live.push_back(lane);
    for (std::size_t i = 0; i < lanes_[lane].products.size(); ++i) {
      const GroupList& groups = lanes_[lane].products[i];
      const auto [at, fresh] = numbers.try_emplace(groups, planned.size());
      if (fresh) planned.push_back({{groups, lane, 0}, {}});
      Planned& found = planned[at->second];
      if (found.product.owner != lane) found.product.owner = -1;
      found.users.emplace_back(lane, i);
    }
  }
  auto order = [this](std::uint32_t group) { return std::pair(groups_[group].letter, groups_[group].seed); };
  std::stable_sort(planned.begin(), planned.end(), [&](const Planned& a, const Planned& b) {
    const GroupList& left = a.product.groups;
    const GroupList& right = b.product.groups;
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(),
                                        [&](auto x, auto y) { return order(x) < order(y); });
  });
  const auto damped = [this](std::uint32_t lane) { return !lanes_[lane].seeds.empty(); };
  std::vector<std::int32_t> masks((planned.size() + 2) * width_);
  std::vector<float> seeds(std::any_of(live.begin(), live.end(), damped) ? masks.size() : 0);
  std::vector<std::uint32_t> mask_of_group(groups_.size());
  std::vector<Product> products;
  for (const std::uint32_t lane : live) {
    masks[lane] = -1;
    masks[width_ + lane] = lanes_[lane].options.constant ? -1 : 0;
  }
  for (std::size_t i = 0; i < planned.size(); ++i) {
    Product& product = planned[i].product;
    product.mask = static_cast<std::uint32_t>(i + 2);
    for (const auto& [lane, at] : planned[i].users) {
      masks[(i + 2) * width_ + lane] = -1;
      if (damped(lane)) seeds[(i + 2) * width_ + lane] = lanes_[lane].seeds[at];
    }
    if (product.groups.size() == 1) {
      mask_of_group[product.groups[0]] = product.mask;
    } else {
      products.push_back(std::move(product));
    }
  }
  live_ = std::move(live);
  products_ = std::move(products);
  mask_of_group_ = std::move(mask_of_group);
  masks_ = std::move(masks);
  seeds_ = std::move(seeds);
  look_at_options();
  complete_ = stale_ = false;
  ++plan_;
}

// What the options and states of the live models have in common.
void Bank::look_at_options() {
  all_square_root_ = all_constant_ = plain_ = true;
  any_gravity_ = false;
  for (const std::uint32_t lane : live_) {
    const Options& options = lanes_[lane].options;
    const bool root = options.power_t == 0.5F;
    const bool implicit = options.l1 > 0 || options.l2 > 0 || lanes_[lane].gravity != 0 || lanes_[lane].contraction != 1;
    rates_[lane] = {-options.power_t, options.power_t - 1.0F, root};
    learning_rate_[lane] = options.learning_rate;
    all_square_root_ = all_square_root_ && root;
    all_constant_ = all_constant_ && options.constant;
    any_gravity_ = any_gravity_ || options.l1 > 0;
    plain_ = plain_ && root && !implicit && options.loss == LossKind::kSquared;
  }
}

ModelState Bank::state(std::uint32_t lane) const {
  return {sum_norm_x_[lane], total_weight_[lane],     low_[lane],
          high_[lane],       lanes_[lane].gravity, lanes_[lane].contraction};
}

void Bank::set_state(std::uint32_t lane, const ModelState& state) {
  sum_norm_x_[lane] = state.sum_norm_x;
  total_weight_[lane] = state.total_weight;
  low_[lane] = state.low;
  high_[lane] = state.high;
  lanes_[lane].gravity = state.gravity;
  lanes_[lane].contraction = state.contraction;
  if (!stale_) look_at_options();
}

void Bank::reserve(std::size_t places) {
  const std::size_t stride = 4 * width_;
  if (places * stride <= table_.size()) return;
  if (places >= 0x7fffffffU) throw std::length_error("too many weights");
  AlignedFloats larger(std::max(places, std::size_t{used_} + used_ / 2) * stride);
  std::copy(table_.get(), table_.get() + std::size_t{used_} * stride, larger.get());
  table_ = std::move(larger);
}

std::uint32_t Bank::add_place(std::uint32_t index) {
  reserve(std::size_t{used_} + 1);
  index_of_.resize(used_);  // after a failure there may be one too many
  first_group_.resize(used_);
  index_of_.push_back(index);
  first_group_.push_back(0);
  wide_.add(index, used_);
  if (!wide_bits_.empty()) mark_wide(index);
  const std::uint32_t place = used_++;
  for (const std::uint32_t lane : live_) {
    const Weight wide{table_.get() + std::size_t{place} * 4 * width_ + lane, width_};
    wide.adaptive() = lanes_[lane].options.initial_t;
    const Narrow& narrow = lanes_[lane].narrow;
    const std::uint32_t cell = narrow.find(index);
    if (cell == IndexMap::kNone) continue;  // else it moves here; what stays behind is not looked at
    moved_ = true;
    const float* from = narrow.cells.data() + std::size_t{cell} * 4;
    for (std::size_t k = 0; k < 4; ++k) wide.at[k * width_] = from[k];
  }
  return place;
}

Dump Bank::dump(std::uint32_t lane) const {
  Dump found;
  auto add = [&](std::uint32_t index, const Weight& weight) {
    if (weight.w() == 0 && weight.adaptive() == 0 && weight.norm() == 0) return;
    found.index.push_back(index);
    found.w.push_back(weight.w());
    found.adaptive.push_back(weight.adaptive());
    found.norm.push_back(weight.norm());
  };
  for (std::size_t place = 1; place < used_; ++place) {
    add(index_of_[place], {table_.get() + place * 4 * width_ + lane, width_});
  }
  const Narrow& narrow = lanes_[lane].narrow;
  narrow.each([&](std::uint32_t index, std::uint32_t cell) {
    if (wide_.find(index) != IndexMap::kNone) return;
    auto* cells = const_cast<float*>(narrow.cells.data());
    add(index, {cells + std::size_t{cell} * 4, 1});
  });
  return found;
}

void Bank::load(std::uint32_t lane, const Dump& weights) {
  if (stale_) rebuild();
  complete_ = false;
  Narrow none;
  for (const std::uint32_t index : weights.index) {
    if (index > mask_) throw std::invalid_argument("an index has more bits than the model");
    place_of(index, true);
  }
  // From here on nothing throws: weights are loaded as a whole, or not at all.
  std::swap(lanes_[lane].narrow, none);
  clean(lane);
  for (std::size_t i = 0; i < weights.index.size(); ++i) {
    const std::uint32_t place = wide_.find(weights.index[i]);
    const Weight weight{table_.get() + std::size_t{place} * 4 * width_ + lane, width_};
    weight.w() = weights.w[i];
    weight.adaptive() = weights.adaptive[i];
    weight.norm() = weights.norm[i];
  }
}

std::size_t Bank::bytes() const {
  std::size_t total = table_.size() * sizeof(float) + wide_.bytes() + index_of_.capacity() * sizeof(std::uint32_t);
  for (const Lane& lane : lanes_) total += lane.narrow.index.bytes() + lane.narrow.cells.capacity() * sizeof(float);
  total += (places_.capacity() + values_.capacity() + narrow_places_.capacity() + narrow_values_.capacity()) * 4;
  return total;
}

}  // namespace chacha
