// Derived groups for Python; part of module.cpp.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/engine.hpp"
#include "features/derivation.hpp"

using namespace nb::literals;

namespace chacha {
namespace {

// A kind of derived groups: name, limits of the parameter, whether only whole numbers are allowed,
// whether the group is made from earlier examples, whether it comes with the example.
using KindTuple = std::tuple<std::string, double, double, bool, bool, bool>;

std::vector<KindTuple> kind_tuples() {
  std::vector<KindTuple> all;
  for (const DerivedKind* kind : derived_kinds()) {
    const auto& [least, most, whole] = kind->limits;
    all.emplace_back(kind->name, least, most, whole, kind->keeps_past(), kind->given());
  }
  return all;
}

// Statistics of the first values of a column: group, name, number of distinct values, whether
// they are few, the number of steps, the least, the largest, the median.
using Profile = std::tuple<std::string, std::string, std::uint32_t, bool, std::uint32_t, double,
                           double, double>;

std::vector<Profile> profiles(Engine& engine) {
  std::vector<Profile> all;
  for (const auto& [group, name, stats] : engine.derivation().columns()) {
    if (!stats->ready()) continue;
    all.emplace_back(engine.groups()[group].name, *name, stats->distinct(), stats->codes(),
                     stats->steps(), stats->least(), stats->largest(), stats->median());
  }
  for (const std::uint32_t group : engine.derivation().missing_groups()) {
    all.emplace_back(engine.groups()[group].name, "", 1, false, 0, 0.0, 1.0, 1.0);
  }
  return all;
}

void bind_derived(nb::class_<PyEngine>& type) {
  type.def(
          "turn_on_centring",
          [](PyEngine& self) { self.locked([&](Engine& engine) { engine.centring().turn_on(); }); },
          "Centre numeric columns from now on, as the first rows show.")
      .def_prop_ro(
          "centres",
          [](PyEngine& self) {
            const auto held = self.lock();
            std::vector<std::tuple<std::string, std::uint32_t, double, double>> centres;
            for (const auto& [group, hash, centre] : self.engine().centring().columns()) {
              centres.emplace_back(self.engine().groups()[group].name, hash, centre.centre,
                                   centre.inverse);
            }
            return centres;
          },
          "Group and hash of every numeric column of the first rows, its centre and factor.")
      .def(
          "turn_on_derivation",
          [](PyEngine& self, std::size_t first) {
            if (first < 2) throw std::invalid_argument("knots need at least two values");
            self.locked([&](Engine& engine) { engine.turn_on_derivation(first); });
          },
          "first"_a)
      .def(
          "add_derived",
          [](PyEngine& self, const std::string& name, const std::string& kind,
             const std::string& source, double parameter) {
            const auto held = self.lock();
            self.engine().add_derived(name, kind, source, parameter);
          },
          "name"_a, "kind"_a, "source"_a, "parameter"_a)
      .def(
          "derived",
          [](PyEngine& self, std::string_view line, const std::vector<std::string>& groups,
             const NumberCells& numbers) {
            const auto held = self.lock();
            std::optional<std::vector<Engine::NamedFeatures>> features;
            if (self.parse(line, numbers)) features = self.engine().derived_features(groups);
            return features;
          },
          "line"_a, "groups"_a, "numbers"_a = NumberCells(),
          "Return the features of derived groups; None if the line is refused.")
      .def(
          "bases",
          [](PyEngine& self, const std::string& name) {
            const auto held = self.lock();
            const std::uint32_t group = self.engine().groups().number(name);
            std::vector<std::tuple<std::string, std::vector<double>, std::vector<float>>> bases;
            for (auto& basis : self.engine().derivation().bases(group)) {
              bases.emplace_back(basis.name, basis.at, basis.past);
            }
            return std::pair(bases, self.engine().derivation().clock(group));
          },
          "name"_a)
      .def(
          "base_hashes",
          [](PyEngine& self, const std::string& name) {
            const auto held = self.lock();
            const std::uint32_t group = self.engine().groups().number(name);
            std::vector<std::uint32_t> hashes;
            for (const auto& basis : self.engine().derivation().bases(group)) {
              hashes.push_back(basis.hash);
            }
            return hashes;
          },
          "name"_a)
      .def_prop_ro(
          "profile", [](PyEngine& self) { return self.locked(profiles); },
          "Group, name, distinct values, whether few, steps, least, largest, median.")
      .def_prop_ro("profile_version", [](PyEngine& self) {
        return self.locked([](Engine& engine) { return engine.derivation().version(); });
      });
}

}  // namespace
}  // namespace chacha
