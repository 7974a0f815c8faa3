// The Python module chacha._native. Only this folder includes Python or nanobind.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/columns.hpp"
#include "bindings/contest.hpp"
#include "bindings/derivation.hpp"
#include "bindings/dicts.hpp"
#include "bindings/engine.hpp"
#include "bindings/tickets.hpp"
#include "data/text_parser.hpp"
#include "engine/engine.hpp"
#include "vw/numbers.hpp"

using namespace nb::literals;

namespace chacha {
namespace {

Options options_of(const std::vector<std::pair<std::string, std::string>>& settings) {
  Options options;
  for (const auto& [key, text] : settings) {
    if (key == "learning_rate")
      options.learning_rate = nearest(text);
    else if (key == "power_t")
      options.power_t = nearest(text);
    else if (key == "initial_t")
      options.initial_t = nearest(text);
    else if (key == "l1")
      options.l1 = nearest(text);
    else if (key == "l2")
      options.l2 = nearest(text);
    else if (key == "loss_function")
      options.loss.kind = loss_named(text);
    else if (key == "noconstant")
      options.constant = text == "off";
    else if (!options.loss.with.set(key, nearest(text)))
      throw std::invalid_argument("unknown option " + key);
  }
  return options;
}

std::tuple<std::int64_t, double, double> tuple_of(const ProgressiveLoss& standing) {
  return {standing.n, standing.total, standing.weight};
}

// A property of the engine, read while holding its lock.
template <class Get>
auto property(Get get) {
  return [get](PyEngine& self) { return self.locked(get); };
}

}  // namespace
}  // namespace chacha

NB_MODULE(_native, module) {
  using namespace chacha;
  module.attr("__version__") = CHACHA_VERSION;

  bind_columns(module);
  bind_dicts(module);
  bind_tickets(module);

  nb::class_<PyEngine> engine(module, "Engine", nb::is_weak_referenceable());
  bind_contest(engine);
  bind_derived(engine);
  engine.def(nb::init<int, const std::string&>(), "bits"_a, "kernel"_a = "")
      .def(
          "start",
          [](PyEngine& self, int bits,
             const std::vector<std::pair<std::string, std::string>>& settings,
             const std::vector<std::vector<std::string>>& products, int source, float damping) {
            const auto held = self.lock();
            return self.engine().start(bits, options_of(settings), products, source, damping);
          },
          "bits"_a, "settings"_a, "products"_a, "source"_a = -1, "damping"_a = 0.0F)
      .def("undamp",
           [](PyEngine& self, std::uint32_t model) {
             const auto held = self.lock();
             self.engine().undamp(model);
           })
      .def("stop",
           [](PyEngine& self, std::uint32_t model) {
             const auto held = self.lock();
             self.engine().stop(model);
           })
      .def("raw", &PyEngine::raw, "line"_a, "models"_a, "learn"_a)
      .def("serve_line", &PyEngine::serve_line)
      .def("serve_dict", &PyEngine::serve_dict)
      .def("learn_line", &PyEngine::learn_line, "line"_a, "y"_a.none(), "weight"_a.none())
      .def("learn_dict", &PyEngine::learn_dict, "plan"_a, "x"_a, "y"_a.none(), "weight"_a.none())
      .def("ask_line", &PyEngine::ask_line)
      .def("ask_dict", &PyEngine::ask_dict)
      .def("tell", &PyEngine::tell, "asked"_a, "y"_a.none(), "weight"_a.none())
      .def("tell_line", &PyEngine::tell_line)
      .def("observe", &PyEngine::observe)
      .def("advance_text", &PyEngine::advance_text)
      .def("advance_columns", &PyEngine::advance_columns)
      .def("take_record", &PyEngine::take_record)
      .def("record",
           [](PyEngine& self, bool wanted, bool tags) {
             const auto held = self.lock();
             self.engine().record().wanted = wanted;
             self.engine().record().tags_wanted = wanted && tags;
           })
      .def(
          "set_rules",
          [](PyEngine& self, const LossTuple& loss, double scale, double delta, bool log_in_root,
             double p, std::optional<double> comp, bool natural, double log_of_base,
             bool count_challengers, std::int64_t burn_in) {
            const auto held = self.lock();
            self.engine().set_rules(
                ServedLoss::named(loss.first, loss.second),
                {scale, delta, log_in_root, p, comp.has_value(), comp.value_or(0.0), natural,
                 log_of_base, count_challengers, burn_in});
          },
          "loss"_a, "scale"_a, "delta"_a, "log_in_root"_a, "p"_a, "comp"_a.none(), "natural"_a,
          "log_of_base"_a, "count_challengers"_a, "burn_in"_a)
      .def("set_contenders",
           [](PyEngine& self,
              const std::vector<std::tuple<std::uint32_t, bool, std::int64_t>>& tuples,
              std::uint32_t incumbent, std::int64_t challengers, bool decide_anyway) {
             const auto held = self.lock();
             std::vector<Contender> contenders;
             for (const auto& [model, challenger, lease] : tuples) {
               contenders.push_back({model, challenger, lease});
             }
             self.engine().set_contenders(std::move(contenders), incumbent, challengers,
                                          decide_anyway);
           })
      .def("set_baseline",
           [](PyEngine& self, std::uint32_t model) {
             self.locked([&](Engine& engine) { engine.set_baseline(model); });
           })
      .def("wait_for",
           [](PyEngine& self, int what) {
             self.locked([&](Engine& engine) { engine.wait_for(static_cast<Wait>(what)); });
           })
      .def("set_observed_bits",
           [](PyEngine& self, int bits) {
             self.locked([&](Engine& engine) { engine.set_observed_bits(bits); });
           })
      .def("standing",
           [](PyEngine& self, std::uint32_t model) {
             return self.locked([&](Engine& engine) { return tuple_of(engine.standing(model)); });
           })
      .def("standings",  // the number of examples, the incumbent, the standings of models
           [](PyEngine& self, const std::vector<std::uint32_t>& models) {
             const auto held = self.lock();
             Engine& engine = self.engine();
             std::vector<std::tuple<std::int64_t, double, double>> standings;
             for (const std::uint32_t model : models) {
               standings.push_back(tuple_of(engine.standing(model)));
             }
             return std::tuple(engine.t(), engine.incumbent(), standings);
           })
      .def_prop_ro("served", property([](Engine& e) { return tuple_of(e.served()); }))
      .def_prop_ro("baseline", property([](Engine& e) { return tuple_of(e.baseline_standing()); }))
      .def_prop_ro("metrics", property([](Engine& e) {
                     return std::pair(e.first_metric(), e.second_metric());
                   }))
      .def_prop_ro("t", property([](Engine& e) { return e.t(); }))
      .def_prop_ro("incumbent", property([](Engine& e) { return e.incumbent(); }))
      .def_prop_ro("served_raw", property([](Engine& e) { return e.served_raw(); }))
      .def_prop_ro("served_loss", property([](Engine& e) { return e.served_loss(); }))
      .def_prop_ro("low", property([](Engine& e) { return e.observed().low(); }))
      .def_prop_ro("high", property([](Engine& e) { return e.observed().high(); }))
      .def_prop_ro("raw_features", property([](Engine& e) { return e.observed().raw_features(); }))
      .def_prop_ro("sizes",
                   [](PyEngine& self) {
                     std::vector<std::pair<std::string, std::int64_t>> pairs;
                     self.locked([&](Engine& engine) {
                       const ObservedStream& observed = engine.observed();
                       for (std::uint32_t group = 0; group < engine.groups().size(); ++group) {
                         if (!observed.has(group)) continue;
                         pairs.emplace_back(engine.groups()[group].name,
                                            observed.exact_size(group));
                       }
                     });
                     nb::dict sizes;
                     for (const auto& [name, size] : pairs) {
                       sizes[nb::str(name.data(), name.size())] = size;
                     }
                     return sizes;
                   })
      .def("dump",
           [](PyEngine& self, std::uint32_t model) {
             Dump dump = self.locked([&](Engine& engine) { return engine.dump(model); });
             return nb::make_tuple(to_numpy(std::move(dump.index)), to_numpy(std::move(dump.w)),
                                   to_numpy(std::move(dump.adaptive)),
                                   to_numpy(std::move(dump.norm)));
           })
      .def(
          "load",
          [](PyEngine& self, std::uint32_t model, const Words& index, const Floats& w,
             const Floats& adaptive, const Floats& norm) {
            const auto held = self.lock();
            Dump dump;
            dump.index.assign(index.data(), index.data() + index.shape(0));
            dump.w.assign(w.data(), w.data() + w.shape(0));
            dump.adaptive.assign(adaptive.data(), adaptive.data() + adaptive.shape(0));
            dump.norm.assign(norm.data(), norm.data() + norm.shape(0));
            const std::size_t size = dump.index.size();
            if (dump.w.size() != size || dump.adaptive.size() != size || dump.norm.size() != size) {
              throw std::invalid_argument("weights of different lengths");
            }
            self.engine().load(model, dump);
          })
      .def("state",
           [](PyEngine& self, std::uint32_t model) {
             const auto held = self.lock();
             const ModelState s = self.engine().state(model);
             return std::tuple(s.sum_norm_x, s.total_weight, s.low, s.high, s.gravity,
                               s.contraction);
           })
      .def("set_state",
           [](PyEngine& self, std::uint32_t model,
              const std::tuple<double, double, float, float, double, double>& s) {
             const auto held = self.lock();
             self.engine().set_state(model, {std::get<0>(s), std::get<1>(s), std::get<2>(s),
                                             std::get<3>(s), std::get<4>(s), std::get<5>(s)});
           })
      .def_prop_ro("bytes", property([](Engine& e) { return e.bytes(); }))
      .def_prop_ro("kernel", [](PyEngine& self) { return self.engine().kernel()->name; });

  // The names of the fields that cross the border, in their order; the twins have the same.
  module.def("fields", [] {
    nb::dict fields;
    fields["Pairing"] = field_names<Pairing>();
    fields["BlendGain"] = field_names<BlendGain>();
    fields["Serving"] = field_names<Serving>();
    return fields;
  });
  module.def("derived_kinds", &kind_tuples);
  module.def("kernels", [] {
    std::vector<std::string> names;
    for (const char* name : {"plain", "avx2", "avx512"}) {
      if (kernel_named(name) != nullptr) names.emplace_back(name);
    }
    return names;
  });
  module.def("murmur", [](nb::bytes data, std::uint32_t seed) {
    return murmur({data.c_str(), data.size()}, seed);
  });
  module.def("hash_name",
             [](std::string_view name, std::uint32_t seed) { return hash_name(name, seed); });
  module.def("read_line", [](nb::handle line) -> nb::object {
    Groups groups;
    Example example;
    std::optional<std::string_view> text;
    if (PyBytes_Check(line.ptr()) != 0) {
      text = std::string_view(PyBytes_AS_STRING(line.ptr()), nb::len(line));
    } else {
      text = utf8_of(line);
    }
    if (!text || !parse_line(*text, groups, example)) return nb::none();
    nb::list runs;
    for (const Run& run : example.runs) {
      nb::list features;
      for (std::uint32_t i = run.begin; i < run.end; ++i) {
        features.append(nb::make_tuple(example.hashes[i], static_cast<double>(example.values[i])));
      }
      const std::string& name = groups[run.group].name;
      runs.append(nb::make_tuple(nb::str(name.data(), name.size()), features));
    }
    nb::object label = nb::none();
    if (example.labelled) label = nb::cast(static_cast<double>(example.label));
    return nb::make_tuple(runs, label, static_cast<double>(example.weight),
                          static_cast<double>(example.initial),
                          nb::str(example.tag.data(), example.tag.size()));
  });
}
