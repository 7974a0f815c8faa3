#include "engine/model_lanes.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include "base/bytes.hpp"
#include "learner/weight.hpp"

namespace chacha {

std::uint32_t ModelLanes::next_number() const {
  std::uint32_t number = 0;
  while (is_live(number)) ++number;
  return number;
}

void ModelLanes::check_live(std::uint32_t model) const {
  if (!is_live(model)) throw std::out_of_range("no model has that number");
}

void ModelLanes::check_source(int bits, int from) const {
  if (from >= 0 && bank(static_cast<std::uint32_t>(from)).bits() != bits) {
    throw std::invalid_argument("a copy has as many bits as its source");
  }
}

Bank& ModelLanes::bank_of(int bits) {
  for (const auto& bank : banks_) {
    if (bank->bits() == bits) return *bank;
  }
  banks_.push_back(std::make_unique<Bank>(bits, groups_, kernel_));
  return *banks_.back();
}

std::uint32_t ModelLanes::start(int bits, const Options& options, std::vector<GroupList> products,
                                int from, float damping, const LabelMap& map) {
  check_source(bits, from);
  const int source = from < 0 ? -1 : static_cast<int>(lane(static_cast<std::uint32_t>(from)));
  const std::uint32_t number = next_number();
  if (number == models_.size()) models_.emplace_back();
  Model& model = models_[number];
  Bank& bank = bank_of(bits);
  try {
    model.lane = bank.start(options, std::move(products), source, damping);
  } catch (...) {
    drop_empty_banks();
    throw;
  }
  // From here on nothing throws.
  model.bank = &bank;
  model.incarnation = ++started_;
  model.map = from < 0 ? map : models_[static_cast<std::size_t>(from)].map;
  return number;
}

void ModelLanes::stop(std::uint32_t model) {
  live(model).bank->stop(models_[model].lane);
  models_[model] = Model();
  drop_empty_banks();
}

void ModelLanes::restart(std::uint32_t model, const LabelMap& map) {
  live(model).bank->restart(models_[model].lane);
  models_[model].incarnation = ++started_;
  models_[model].map = map;
}

// Frees the memory of banks without a model.
void ModelLanes::drop_empty_banks() noexcept {
  for (std::size_t i = banks_.size(); i-- > 0;) {
    if (banks_[i]->live() > 0) continue;
    banks_.erase(banks_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void ModelLanes::take_predictions(const Bank* bank, const Example& example,
                                  const float* by_lane) noexcept {
  for (Model& model : models_) {
    if (model.bank != bank) continue;
    model.raw = model.map.to_user(static_cast<double>(by_lane[model.lane]), example.base);
  }
}

void ModelLanes::predict(const Example& example) noexcept {
  std::array<float, kMostLanes> by_lane;
  for (const auto& bank : banks_) {
    bank->predict(example, by_lane.data());
    take_predictions(bank.get(), example, by_lane.data());
  }
}

void ModelLanes::learn(const Example& example) noexcept {
  std::array<float, kMostLanes> by_lane;
  std::array<float, kMostLanes> labels{};
  for (const auto& bank : banks_) {
    for (const Model& model : models_) {
      if (model.bank == bank.get()) labels[model.lane] = model.map.to_learner(example);
    }
    bank->learn(example, labels.data(), by_lane.data());
    take_predictions(bank.get(), example, by_lane.data());
    for (Model& model : models_) {
      if (model.bank == bank.get() && model.map.log) {
        model.map.observe(example, static_cast<double>(by_lane[model.lane]));
      }
    }
  }
}

std::size_t ModelLanes::bytes() const {
  std::size_t total = bytes_of(models_, banks_);
  for (const auto& bank : banks_) total += sizeof(Bank) + bank->bytes();
  return total;
}

}  // namespace chacha
