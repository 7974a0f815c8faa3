// Which lanes of which bank each live model has, and what the models predicted last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/example.hpp"
#include "data/groups.hpp"
#include "learner/bank.hpp"
#include "learner/kernel.hpp"
#include "learner/label_map.hpp"
#include "learner/model.hpp"

namespace chacha {

// A model is the learner of one configuration. It has a number, which is free again once it is
// stopped, and `kLanes` lanes in the bank of its bits. Banks are made and dropped with their
// models.
class ModelLanes {
 public:
  static constexpr std::uint32_t kLanes = 1;  // of every model: it has one label and one prediction

  ModelLanes(const Groups& groups, const Kernel* kernel) : groups_(groups), kernel_(kernel) {}

  // Return the number that the next model gets: the least that is free.
  std::uint32_t next_number() const;
  // Raise an error unless a model of so many bits can be a copy of `from`, or a new one (-1).
  void check_source(int bits, int from) const;
  // Start a model, and return its number. `from`: the model that it copies, or -1. An empty model
  // learns labels by `map`, a copy as its source does. For `damping` see Bank::start. May throw;
  // then nothing has changed.
  std::uint32_t start(int bits, const Options& options, std::vector<GroupList> products, int from,
                      float damping, const LabelMap& map = {});
  void stop(std::uint32_t model);
  // Make a model empty again: it is another incarnation. May throw; then it can be called again.
  void restart(std::uint32_t model, const LabelMap& map);

  bool is_live(std::uint32_t model) const {
    return model < models_.size() && models_[model].bank != nullptr;
  }
  // Raise an error unless a model has that number.
  void check_live(std::uint32_t model) const;
  // A number that no other start or restart of any model has, to recognise a model that began
  // again, or was stopped and its number given to another one. At least 1.
  std::uint64_t incarnation(std::uint32_t model) const { return live(model).incarnation; }

  // Where a model learns: its bank, and the first of its lanes there.
  Bank& bank(std::uint32_t model) const { return *live(model).bank; }
  std::uint32_t lane(std::uint32_t model) const { return live(model).lane; }

  const LabelMap& map(std::uint32_t model) const { return models_[model].map; }
  void set_map(std::uint32_t model, const LabelMap& map) { models_[model].map = map; }
  void find_scale(std::uint32_t model, double y) { models_[model].map.find_scale(y); }

  const std::vector<std::unique_ptr<Bank>>& banks() const { return banks_; }
  // Predict or learn an example that all banks have expanded.
  void predict(const Example& example) noexcept;
  void learn(const Example& example) noexcept;
  // Return what a model predicted last, in the units of the labels; 0 if it has not predicted, or
  // was stopped. Not checked.
  double raw(std::uint32_t model) const noexcept { return models_[model].raw; }

  std::size_t bytes() const;

 private:
  struct Model {
    Bank* bank = nullptr;  // null: the number is free
    std::uint32_t lane = 0;
    std::uint64_t incarnation = 0;
    double raw = 0.0;
    LabelMap map;
  };

  const Model& live(std::uint32_t model) const {
    check_live(model);
    return models_[model];
  }
  Bank& bank_of(int bits);
  void drop_empty_banks() noexcept;
  void take_predictions(const Bank* bank, const Example& example, const float* by_lane) noexcept;

  const Groups& groups_;
  const Kernel* kernel_;
  std::vector<std::unique_ptr<Bank>> banks_;
  std::vector<Model> models_;  // by number
  std::uint64_t started_ = 0;  // models so far
};

}  // namespace chacha
