// The Python module chacha._native. Only this folder includes Python or nanobind.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

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

// A line as it is read: groups with the hashes and values of their features, label, weight, initial
// value, tag.
using ReadGroup = std::pair<std::string, std::vector<std::pair<std::uint32_t, double>>>;
using ReadLine =
    std::tuple<std::vector<ReadGroup>, std::optional<double>, double, double, std::string>;

std::optional<ReadLine> read_line(nb::typed<nb::handle, std::variant<nb::bytes, nb::str>> line) {
  Groups groups;
  Example example;
  std::optional<std::string_view> text;
  if (PyBytes_Check(line.ptr()) != 0) {
    text = std::string_view(PyBytes_AS_STRING(line.ptr()), nb::len(line));
  } else {
    text = utf8_of(line);
  }
  if (!text || !parse_line(*text, groups, example)) return std::nullopt;
  std::vector<ReadGroup> runs;
  for (const Run& run : example.runs) {
    auto& features = runs.emplace_back(groups[run.group].name, ReadGroup::second_type()).second;
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      features.emplace_back(example.hashes[i], static_cast<double>(example.values[i]));
    }
  }
  std::optional<double> label;
  if (example.labelled) label = static_cast<double>(example.label);
  return ReadLine(std::move(runs), label, static_cast<double>(example.weight),
                  static_cast<double>(example.initial), std::string(example.tag));
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
  module.doc() = "The native engine; `make stub` writes its stub from native/src.";
  module.attr("__version__") = CHACHA_VERSION;

  bind_columns(module);
  bind_dicts(module);
  bind_tickets(module);

  nb::class_<PyEngine> engine(module, "Engine", nb::is_weak_referenceable(),
                              nb::type_slots(engine_slots),
                              "All live models and the rules, one step per example.");
  engine.def(nb::init<int, const std::string&>(), "bits"_a, "kernel"_a = "");
  bind_contest(engine);
  bind_derived(engine);
  engine.def("hold", &PyEngine::hold, "Keep other threads out until `let_go`.")
      .def("let_go", &PyEngine::let_go, "End a `hold` of this thread.");
  engine
      .def(
          "start",
          [](PyEngine& self, int bits,
             const std::vector<std::pair<std::string, std::string>>& settings,
             const std::vector<std::vector<std::string>>& products, int source, float damping) {
            const auto held = self.lock();
            return self.engine().start(bits, options_of(settings), products, source, damping);
          },
          "bits"_a, "settings"_a, "products"_a, "source"_a = -1, "damping"_a = 0.0F,
          "Start a model, empty or as a copy of `source`, and return its number.")
      .def(
          "undamp",
          [](PyEngine& self, std::uint32_t model) {
            const auto held = self.lock();
            self.engine().undamp(model);
          },
          "model"_a)
      .def(
          "stop",
          [](PyEngine& self, std::uint32_t model) {
            const auto held = self.lock();
            self.engine().stop(model);
          },
          "model"_a)
      .def(
          "incarnation",
          [](PyEngine& self, std::uint32_t model) {
            const auto held = self.lock();
            return self.engine().incarnation(model);
          },
          "model"_a, "Return a number that the model has until it is stopped or begins again.")
      .def("raw", &PyEngine::raw, "line"_a, "models"_a, "learn"_a, "numbers"_a = NumberCells(),
           "Return the raw predictions of models; None if the line is refused.")
      .def("serve_line", &PyEngine::serve_line, "line"_a,
           "Return the prediction for a line; None if it needs a closer look.")
      .def("serve_dict", &PyEngine::serve_dict, "plan"_a, "x"_a,
           "Return the prediction for a dict; None if it needs a closer look.")
      .def("learn_line", &PyEngine::learn_line, "line"_a, "y"_a.none(), "weight"_a.none(),
           "Learn a line; return a Status, or -1 if it needs a closer look.")
      .def("learn_row", &PyEngine::learn_row, "line"_a, "y"_a.none(), "numbers"_a,
           "Learn a row that Python has read; return what learn_line does.")
      .def("learn_dict", &PyEngine::learn_dict, "plan"_a, "x"_a, "y"_a.none(), "weight"_a.none(),
           "Learn a dict; return what learn_line does.")
      .def("ask_line", &PyEngine::ask_line, "line"_a,
           "Predict a line whose label comes late; None if it needs a closer look.")
      .def("ask_dict", &PyEngine::ask_dict, "plan"_a, "x"_a,
           "Predict a dict whose label comes late; None if it needs a closer look.")
      .def("tell", &PyEngine::tell, "asked"_a, "y"_a.none(), "weight"_a.none(),
           "Learn an asked example with its label; return what learn_line does.")
      .def("tell_line", &PyEngine::tell_line, "line"_a, "forecast"_a, "served"_a, "baseline"_a,
           "constant"_a, "y"_a.none(), "numbers"_a,
           "Learn a labelled line, charging the given predictions.")
      .def("observe", &PyEngine::observe, "line"_a, "numbers"_a,
           "Count the groups and features of a line; return whether it was read.")
      .def("advance_text", &PyEngine::advance_text, "text"_a, "at"_a, "end"_a, "limit"_a,
           "Learn lines of a buffer; return Status, next position, examples.")
      .def("advance_columns", &PyEngine::advance_columns, "block"_a, "row"_a, "end"_a, "limit"_a,
           "Learn rows of a block; return Status, next row, examples.")
      .def("take_record", &PyEngine::take_record,
           "Return predictions, labels, models, tags, models blended in, shares.")
      .def(
          "record",
          [](PyEngine& self, bool wanted, bool tags) {
            const auto held = self.lock();
            self.engine().record().wanted = wanted;
            self.engine().record().tags_wanted = wanted && tags;
          },
          "wanted"_a, "tags"_a)
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
      .def(
          "set_contenders",
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
          },
          "contenders"_a, "incumbent"_a, "challengers"_a, "decide_anyway"_a,
          "Set the contenders: model, whether it is a challenger, lease.")
      .def(
          "scale_labels",
          [](PyEngine& self, std::size_t rows) {
            self.locked([&](Engine& engine) { engine.scale_labels(rows); });
          },
          "rows"_a, "Learn labels in units of their scale, which the first rows show.")
      .def(
          "renew_scale",
          [](PyEngine& self, std::size_t last, bool log) {
            self.locked([&](Engine& engine) { engine.renew_scale(last, log); });
          },
          "last"_a, "logarithms"_a,
          "Let models that start empty learn labels, or their logarithms, on the last scale.")
      .def_prop_ro("skewed", property([](Engine& e) { return e.has_skewed_labels(); }))
      .def(
          "beyond_scale",
          [](PyEngine& self, std::uint32_t model) {
            const auto held = self.lock();
            return self.engine().beyond_scale(model);
          },
          "model"_a, "Whether the last labels spread much more than in the scale of a model.")
      .def(
          "logarithm_map",
          [](PyEngine& self, std::uint32_t model) {
            const auto held = self.lock();
            const LabelMap& map = self.engine().label_map(model);
            return std::tuple(map.log, map.low, map.unit, map.correction());
          },
          "model"_a, "Return whether a model learns logarithms; lowest label, unit, correction.")
      .def(
          "label_map",
          [](PyEngine& self, std::uint32_t model) {
            const auto held = self.lock();
            const LabelMap& map = self.engine().label_map(model);
            return std::tuple(map.scaled, map.shift, map.scale);
          },
          "model"_a, "Return whether a model's labels are scaled, their shift and their scale.")
      .def_prop_ro("has_bases", property([](Engine& e) { return e.has_bases(); }),
                   "Whether labels are scaled, and an example brought an initial prediction.")
      .def(
          "set_baseline",
          [](PyEngine& self, std::uint32_t model) {
            self.locked([&](Engine& engine) { engine.set_baseline(model); });
          },
          "model"_a)
      .def(
          "wait_for",
          [](PyEngine& self, int what) {
            self.locked([&](Engine& engine) { engine.wait_for(static_cast<Wait>(what)); });
          },
          "what"_a)
      .def(
          "set_observed_bits",
          [](PyEngine& self, int bits) {
            self.locked([&](Engine& engine) { engine.set_observed_bits(bits); });
          },
          "bits"_a)
      .def(
          "standing",
          [](PyEngine& self, std::uint32_t model) {
            return self.locked([&](Engine& engine) { return tuple_of(engine.standing(model)); });
          },
          "model"_a, "Return the examples charged to a model, their loss and weight.")
      .def(
          "standings",
          [](PyEngine& self, const std::vector<std::uint32_t>& models) {
            const auto held = self.lock();
            Engine& engine = self.engine();
            std::vector<std::tuple<std::int64_t, double, double>> standings;
            for (const std::uint32_t model : models) {
              standings.push_back(tuple_of(engine.standing(model)));
            }
            return std::tuple(engine.t(), engine.incumbent(), standings);
          },
          "models"_a, "Return the number of examples, the incumbent and the standings.")
      .def_prop_ro("served", property([](Engine& e) {
                     const RunningLoss& served = e.served();
                     return std::tuple(served.n, served.total, served.weight, served.lost);
                   }))
      .def_prop_ro("baseline", property([](Engine& e) { return tuple_of(e.baseline_standing()); }))
      .def_prop_ro("constant", property([](Engine& e) { return tuple_of(e.constant_standing()); }))
      .def_prop_ro("label_origin",
                   property([](Engine& e) { return e.derivation().label_origin(); }))
      .def_prop_ro("beside_constant", property([](Engine& e) {
                     return std::tuple(tuple_of(e.served_beside_constant()),
                                       tuple_of(e.known_constant()),
                                       tuple_of(e.baseline_beside_constant()));
                   }))
      .def_prop_ro("constant_raw", property([](Engine& e) { return e.constant(); }))
      .def_prop_ro("metrics", property([](Engine& e) {
                     return std::pair(e.first_metric(), e.second_metric());
                   }))
      .def_prop_ro("t", property([](Engine& e) { return e.t(); }))
      .def_prop_ro("decision_due", property([](Engine& e) { return e.decision_due(); }))
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
                     nb::typed<nb::dict, nb::str, std::int64_t> sizes;
                     for (const auto& [name, size] : pairs) {
                       sizes[nb::str(name.data(), name.size())] = size;
                     }
                     return sizes;
                   })
      .def(
          "dump",
          [](PyEngine& self, std::uint32_t model) {
            Dump dump = self.locked([&](Engine& engine) { return engine.dump(model); });
            return std::tuple(to_numpy(std::move(dump.index)), to_numpy(std::move(dump.w)),
                              to_numpy(std::move(dump.adaptive)), to_numpy(std::move(dump.norm)));
          },
          "model"_a, "Return the weights: index, weight, adaptive, norm.")
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
          },
          "model"_a, "index"_a, "w"_a, "adaptive"_a, "norm"_a)
      .def(
          "state",
          [](PyEngine& self, std::uint32_t model) {
            const auto held = self.lock();
            const ModelState s = self.engine().state(model);
            return std::tuple(s.sum_norm_x, s.total_weight, s.low, s.high, s.gravity,
                              s.contraction);
          },
          "model"_a, "Return sum_norm_x, total_weight, low, high, gravity, contraction.")
      .def(
          "set_state",
          [](PyEngine& self, std::uint32_t model,
             const std::tuple<double, double, float, float, double, double>& s) {
            const auto held = self.lock();
            self.engine().set_state(model, {std::get<0>(s), std::get<1>(s), std::get<2>(s),
                                            std::get<3>(s), std::get<4>(s), std::get<5>(s)});
          },
          "model"_a, "state"_a)
      .def_prop_ro("bytes", property([](Engine& e) { return e.bytes(); }))
      .def_prop_ro("kernel", [](PyEngine& self) { return self.engine().kernel()->name; });

  module.def(
      "fields",
      [] {
        nb::typed<nb::dict, nb::str, std::vector<std::string>> fields;
        fields["Pairing"] = field_names<Pairing>();
        fields["BlendGain"] = field_names<BlendGain>();
        fields["Serving"] = field_names<Serving>();
        fields["Surprise"] = field_names<Surprise>();
        return fields;
      },
      "Return the fields of Pairing, BlendGain, Serving and Surprise, in their order.");
  module.def("derived_kinds", &kind_tuples,
             "Return name, least, most, whether whole, keeps the past, is given.");
  module.def(
      "kernels",
      [] {
        std::vector<std::string> names;
        for (const char* name : {"plain", "avx2", "avx512"}) {
          if (kernel_named(name) != nullptr) names.emplace_back(name);
        }
        return names;
      },
      "Return the names of the kernels that this machine can run.");
  module.def(
      "murmur",
      [](nb::bytes data, std::uint32_t seed) { return murmur({data.c_str(), data.size()}, seed); },
      "data"_a, "seed"_a);
  module.def(
      "hash_name", [](std::string_view name, std::uint32_t seed) { return hash_name(name, seed); },
      "name"_a, "seed"_a);
  module.def("read_line", &read_line, "line"_a,
             "Return groups, label, weight, initial value, tag; None if refused.");
}
