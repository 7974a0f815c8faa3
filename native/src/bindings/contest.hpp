// The contest and the screen for Python; part of module.cpp.
#pragma once

#include <cmath>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/engine.hpp"

using namespace nb::literals;

namespace chacha {
namespace {

// The fields of a value as a tuple, in the order of its twin in Python.
using Fields = nb::typed<nb::tuple, nb::any, nb::ellipsis>;

template <class Value>
Fields fields_of(const Value& value) {
  nb::list fields;
  Value::each_field([&](const char*, auto field) { fields.append(value.*field); });
  return nb::tuple(fields);
}

template <class Value>
Value value_of(const nb::tuple& fields) {
  Value value;
  std::size_t at = 0;
  Value::each_field([&](const char* name, auto field) {
    using Field = std::remove_reference_t<decltype(value.*field)>;
    if (at == fields.size() || !nb::try_cast<Field>(fields[at], value.*field)) {
      throw nb::type_error((std::string("no value for the field ") + name).c_str());
    }
    ++at;
  });
  if (at != fields.size()) throw nb::type_error("too many fields");
  return value;
}

template <class Value>
std::vector<std::string> field_names() {
  std::vector<std::string> names;
  Value::each_field([&](const char* name, auto) { names.emplace_back(name); });
  return names;
}

using ChallengerTuple = std::tuple<std::uint32_t, std::int64_t, Fields, Fields>;
using CustomTest = nb::typed<nb::callable, double(double, double, double, double)>;
using Failures = nb::typed<nb::list, nb::any>;

ContestState contest_state(std::uint32_t champion, std::int64_t charged, double level,
                           const nb::tuple& surprise, bool decide_anyway, const nb::tuple& serving,
                           const std::vector<ChallengerTuple>& challengers) {
  ContestState state{champion,
                     charged,
                     level,
                     value_of<Surprise>(surprise),
                     decide_anyway,
                     value_of<Serving>(serving),
                     {}};
  for (const auto& [model, lease, pairing, blend_gain] : challengers) {
    state.challengers.push_back(
        {model, lease, value_of<Pairing>(pairing), value_of<BlendGain>(blend_gain)});
  }
  return state;
}

void bind_contest(nb::class_<PyEngine>& type) {
  type.def(
          "set_contest_rules",
          [](PyEngine& self, const LossTuple& loss, double margin, std::int64_t block, double clip,
             double block_clip, double most, double eliminates, std::int64_t patience,
             std::int64_t warm_up, bool bernstein,
             std::optional<std::pair<std::uint64_t, std::int64_t>> coin, std::int64_t burn_in,
             std::int64_t early, double decay, double standard_errors, double blend_clip,
             double tolerance, bool champion_only, double share, double rate,
             std::optional<std::pair<CustomTest, Failures>> custom) {
            PairedBetting rules{margin,     block,    clip,    block_clip, most,
                                eliminates, patience, warm_up, bernstein,  coin.has_value(),
                                0,          1,        {}};
            if (coin) std::tie(rules.seed, rules.coin_block) = *coin;
            const auto held = self.lock();
            if (custom) rules.custom = self.custom_test(custom->first, custom->second);
            self.engine().set_contest_rules(
                ServedLoss::named(loss.first, loss.second), std::move(rules),
                {burn_in, early, decay, standard_errors, blend_clip, tolerance, champion_only},
                share, rate);
          },
          nb::kw_only(), "loss"_a, "margin"_a, "block"_a, "clip"_a, "block_clip"_a, "most"_a,
          "eliminates"_a, "patience"_a, "warm_up"_a, "bernstein"_a, "coin"_a.none(), "burn_in"_a,
          "early"_a, "decay"_a, "standard_errors"_a, "blend_clip"_a, "tolerance"_a,
          "champion_only"_a, "share"_a, "rate"_a, "custom"_a.none(),
          "Set the rules; a custom test gets mean, variance, gain and harm.")
      .def(
          "set_contest",
          [](PyEngine& self, std::uint32_t champion, std::int64_t charged, double level,
             const Fields& surprise, bool decide_anyway, const Fields& serving,
             const std::vector<ChallengerTuple>& challengers) {
            ContestState state = contest_state(champion, charged, level, surprise, decide_anyway,
                                               serving, challengers);
            const auto held = self.lock();
            self.engine().set_contest(std::move(state));
          },
          "champion"_a, "charged"_a, "level"_a, "surprise"_a, "decide_anyway"_a, "serving"_a,
          "challengers"_a, "Set the state; a challenger is a model, lease, Pairing and BlendGain.")
      .def_prop_ro(
          "contest",
          [](PyEngine& self) {
            const auto [t, state] = self.locked(
                [](Engine& engine) { return std::pair(engine.t(), engine.contest().state()); });
            std::vector<ChallengerTuple> challengers;
            for (const Challenger& c : state.challengers) {
              challengers.emplace_back(c.model, c.lease, fields_of(c.pairing),
                                       fields_of(c.blend_gain));
            }
            return std::tuple(t, state.charged, state.level, fields_of(state.surprise),
                              fields_of(state.serving), challengers);
          },
          "Examples, those charged, the usual loss, Surprise, Serving, challengers.")
      .def_prop_ro(
          "serving",
          [](PyEngine& self) {
            const auto held = self.lock();
            return self.serving();
          },
          "The champion, the model blended in, and its share.")
      .def_prop_ro(
          "block_ends",
          [](PyEngine& self) {
            return self.locked([](Engine& engine) { return engine.calls_test(); });
          },
          "Whether the next example may fill a block, which is when a custom test is called.")
      .def(
          "set_screen",
          [](PyEngine& self,
             const std::vector<std::pair<std::vector<std::string>, std::uint32_t>>& products,
             std::size_t keep) {
            const auto held = self.lock();
            std::vector<std::vector<std::uint32_t>> groups;
            std::vector<std::uint32_t> cells;
            for (const auto& [names, size] : products) {
              if (names.empty() || size == 0 || (size & (size - 1)) != 0) {
                throw std::invalid_argument(
                    "a candidate has a group or more, and a power of two of cells");
              }
              std::vector<std::uint32_t> numbers;
              for (const std::string& name : names) {
                numbers.push_back(self.engine().groups().number(name));
              }
              groups.push_back(std::move(numbers));
              cells.push_back(size);
            }
            self.engine().screen().set(groups, cells, keep);
          },
          "products"_a, "keep"_a = 0)
      .def_prop_ro(
          "screened",
          [](PyEngine& self) {
            const auto held = self.lock();
            bool every = true;
            std::vector<double> gains;
            for (const auto& [looks, gain] : self.engine().screen().scores()) {
              const auto count = static_cast<double>(looks);
              gains.push_back(looks > 0 ? gain / count : std::nan(""));
              every = every && std::isfinite(gains.back());
            }
            return std::pair(every, gains);
          },
          "Whether all candidates have a gain, and the gain per look of each.")
      .def_prop_ro("screen_rounds",
                   [](PyEngine& self) {
                     const auto held = self.lock();
                     return self.engine().screen().rounds();
                   })
      .def_prop_ro(
          "screen_kept",
          [](PyEngine& self) {
            const auto held = self.lock();
            return self.engine().screen().kept();
          },
          "The number of candidates, the first ones, that kept their learners.")
      .def_prop_ro(
          "active",
          [](PyEngine& self) {
            const auto held = self.lock();
            Engine& engine = self.engine();
            std::vector<std::pair<std::string, std::int64_t>> counts;
            for (std::uint32_t group = 0; group < engine.groups().size(); ++group) {
              const std::int64_t count = engine.screen().active(group);
              if (count > 0) counts.emplace_back(engine.groups()[group].name, count);
            }
            return std::pair(engine.screen().examples(), counts);
          },
          "The number of examples, and of the features of each raw group.");
}

}  // namespace
}  // namespace chacha
