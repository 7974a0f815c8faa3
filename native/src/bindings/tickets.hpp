// Examples whose labels come late; part of module.cpp.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "base/pod.hpp"
#include "bindings/dicts.hpp"
#include "data/example.hpp"
#include "engine/engine.hpp"

namespace chacha {
namespace {

// An example as it was read, without its label, in one piece of memory.
class SavedExample {
 public:
  // To be called before Engine::order_runs, so that restoring is like reading again.
  explicit SavedExample(const Example& example)
      : weight_(example.weight),
        initial_(example.initial),
        runs_(static_cast<std::uint32_t>(example.runs.size())),
        features_(static_cast<std::uint32_t>(example.hashes.size())) {
    static_assert(sizeof(Run) == 3 * sizeof(std::uint32_t));
    words_.resize(3 * std::size_t{runs_} + 2 * std::size_t{features_});
    std::uint32_t* to = words_.data();
    to = save(example.runs, to);
    to = save(example.hashes, to);
    save(example.values, to);
    read_ = example.read;
  }

  void restore(Example& example, const Groups& groups) const {
    const std::uint32_t* hashes = words_.data() + 3 * std::size_t{runs_};
    const std::uint32_t* values = hashes + features_;
    example.clear();
    example.reserve(features_);
    for (std::uint32_t r = 0; r < runs_; ++r) {
      Run run{};
      std::memcpy(&run, words_.data() + 3 * std::size_t{r}, sizeof(run));
      example.open(run.group, groups.letter(run.group));
      for (std::uint32_t i = run.begin; i < run.end; ++i) {
        float value = 0.0F;
        std::memcpy(&value, values + i, sizeof(value));
        example.add(hashes[i], value);
      }
      example.close();
    }
    example.read = read_;
    example.weight = weight_;
    example.initial = initial_;
  }

 private:
  template <class T>
  static std::uint32_t* save(const Pod<T>& from, std::uint32_t* to) {
    if (from.size() > 0) std::memcpy(to, from.data(), from.size() * sizeof(T));
    return to + from.size() * sizeof(T) / sizeof(std::uint32_t);
  }

  float weight_, initial_;
  std::uint32_t runs_, features_;
  Pod<std::uint32_t> words_;  // runs, hashes, values
  Pod<double> read_;
};

// A model, its incarnation, and what it predicted.
using Prediction = std::tuple<std::uint32_t, std::uint64_t, double>;

// Takes the predictions of the models that are still the same.
void take_same(const Engine& engine, const std::vector<Prediction>& predictions,
               Forecast& forecast) {
  forecast.raw.clear();
  for (const auto& [model, incarnation, raw] : predictions) {
    if (engine.incarnation(model) == incarnation) forecast.raw.emplace_back(model, raw);
  }
}

// An example that was read once, and what all live models predicted for it. Nothing that happens to
// the dict changes it.
struct Asked {
  std::uint64_t engine;  // its number
  SavedExample example;
  // What the names of the features are made of: a line, or a plan and the words of a dict.
  nb::object line;
  nb::object plan;
  DictRows::Words words;
  std::vector<Prediction> predictions;                       // of all live models
  double served = 0.0;                                       // raw
  double baseline = 0.0;                                     // raw; 0 without a baseline
  double constant = 0.0;                                     // raw; see BestConstant
  double prediction = 0.0;                                   // as the user gets it
  std::tuple<std::uint32_t, std::uint32_t, double> serving;  // champion, other model, its share
  bool learned = false;                                      // with its label

  // The predictions of the models that are still the same.
  void forecast(const Engine& engine_now, Forecast& forecast) const {
    take_same(engine_now, predictions, forecast);
    forecast.served = served;
    forecast.baseline = baseline;
    forecast.constant = constant;
  }
};

void bind_tickets(nb::module_& module) {
  nb::class_<Asked>(module, "Asked",
                    "An example whose label comes late, and what the models predicted.")
      .def_prop_ro("prediction", [](const Asked& self) { return self.prediction; })
      .def_prop_ro("learned", [](const Asked& self) { return self.learned; })
      .def_prop_ro(
          "serving", [](const Asked& self) { return self.serving; },
          "The champion, the model blended in, and its share.");
}

}  // namespace
}  // namespace chacha
