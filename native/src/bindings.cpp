// The engine for Python. The only file that knows of Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "engine.hpp"
#include "numbers.hpp"
#include "parser.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace chacha {
namespace {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
auto to_numpy(std::vector<T>&& data) {
  auto* kept = new std::vector<T>(std::move(data));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

// Bytes that Python holds: bytes, a bytearray, an mmap.
class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::string_view text() const { return {static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len)}; }

 private:
  Py_buffer view_{};
};

// The UTF-8 of a str; nothing if it has none (lone surrogates).
std::optional<std::string_view> utf8_of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return std::string_view(data, static_cast<std::size_t>(size));
}

// Columns with the arrays that Python holds for them.
struct PyBlock {
  ColumnBlock block;
  std::vector<nb::object> kept;
  std::vector<std::string> groups;  // of the parts
};

// Where the entries of a dict of a known form stand: read without text, in VW's order.
class DictPlan {
 public:
  // Entries: key of the outer dict, key of the inner dict (or None), group, the feature's name.
  DictPlan(const std::vector<std::tuple<nb::object, nb::object, std::string, std::string>>& entries,
           std::size_t size, const std::vector<std::pair<nb::object, std::size_t>>& inner_sizes)
      : size_(size), inner_sizes_(inner_sizes) {
    for (const auto& [outer, inner, group, name] : entries) {
      entries_.push_back({outer, inner, group, name, hash_name(name, group_seed(group)), 0});
    }
  }

  // False if the dict has another form, or holds a value that needs a second look.
  bool read(nb::handle dict, Groups& groups, Example& example) {
    if (!PyDict_CheckExact(dict.ptr()) || static_cast<std::size_t>(PyDict_GET_SIZE(dict.ptr())) != size_) return false;
    for (const auto& [key, size] : inner_sizes_) {
      PyObject* inner = PyDict_GetItem(dict.ptr(), key.ptr());
      if (inner == nullptr || !PyDict_CheckExact(inner)) return false;
      if (static_cast<std::size_t>(PyDict_GET_SIZE(inner)) != size) return false;
    }
    if (groups_ != &groups) number(groups);
    if (!in_order(dict.ptr()) && !look_up(dict.ptr())) return false;
    example.clear();
    example.reserve(entries_.size());
    std::uint32_t open = 0xffffffffU;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      PyObject* value = values_[i];
      if (entry.number != open) {
        if (open != 0xffffffffU) example.close();
        open = entry.number;
        example.open(open, groups.letter(open));
      }
      if (!add(entry, value, groups, example)) return false;
    }
    if (open != 0xffffffffU) example.close();
    return true;
  }

 private:
  struct Entry {
    nb::object outer, inner;
    std::string group, name;
    std::uint32_t hash, number;
  };

  // The values of a flat dict with its keys in the order of the last one: no key is looked up.
  bool in_order(PyObject* dict) {
    if (order_.size() != entries_.size() || !inner_sizes_.empty()) return false;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t at = 0;
    for (const auto& [known, entry] : order_) {
      if (PyDict_Next(dict, &at, &key, &value) == 0 || !same_text(key, known.ptr())) return false;
      values_[entry] = value;
    }
    return true;
  }

  // The values in any order; the order is remembered.
  bool look_up(PyObject* dict) {
    values_.resize(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      PyObject* value = PyDict_GetItem(dict, entries_[i].outer.ptr());
      if (value != nullptr && !entries_[i].inner.is_none()) value = PyDict_GetItem(value, entries_[i].inner.ptr());
      if (value == nullptr) return false;
      values_[i] = value;
    }
    if (inner_sizes_.empty() && orders_ < kMostOrders) remember_order(dict);
    return true;
  }

  static bool same_text(PyObject* a, PyObject* b) {
    if (a == b) return true;
    if (!PyUnicode_CheckExact(a) || PyUnicode_GET_LENGTH(a) != PyUnicode_GET_LENGTH(b)) return false;
    if (PyUnicode_KIND(a) != PyUnicode_KIND(b)) return false;
    const auto bytes = static_cast<std::size_t>(PyUnicode_GET_LENGTH(a)) * static_cast<std::size_t>(PyUnicode_KIND(a));
    return std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), bytes) == 0;
  }

  void remember_order(PyObject* dict) {
    ++orders_;
    order_.clear();
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value) != 0) {
      for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (values_[i] != value) continue;
        const int same = PyObject_RichCompareBool(entries_[i].outer.ptr(), key, Py_EQ);
        if (same < 0) PyErr_Clear();
        if (same == 1) order_.emplace_back(nb::borrow(key), i);
      }
    }
  }

  void number(Groups& groups) {
    for (Entry& entry : entries_) entry.number = groups.number(entry.group);
    groups_ = &groups;
  }

  bool add(const Entry& entry, PyObject* value, const Groups& groups, Example& example) {
    double number;
    if (PyFloat_CheckExact(value)) {
      number = PyFloat_AS_DOUBLE(value);
    } else if (PyLong_CheckExact(value) || PyBool_Check(value)) {
      int overflow = 0;
      const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
      if (overflow != 0 || whole > (1LL << 53) || whole < -(1LL << 53)) return false;
      number = static_cast<double>(whole);
    } else if (PyUnicode_CheckExact(value)) {
      return add_word(entry, value, groups, example);
    } else {
      return value == Py_None;
    }
    const auto single = static_cast<float>(number);  // the nearest, as everywhere
    if (!std::isfinite(single)) return false;
    if (single != 0.0F) example.add(entry.hash, single);
    return true;
  }

  bool add_word(const Entry& entry, PyObject* value, const Groups& groups, Example& example) {
    const auto text = utf8_of(value);
    if (!text || text->empty()) return false;
    word_.assign(entry.name);
    word_.push_back('=');
    for (const char c : *text) {
      const bool plain = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
      if (!plain) return false;
    }
    word_.append(*text);
    example.add(hash_name(word_, groups[entry.number].seed), 1.0F);
    return true;
  }

  std::vector<Entry> entries_;
  std::vector<std::pair<nb::object, std::size_t>> order_;  // keys as they came, and their entries
  static constexpr int kMostOrders = 8;  // if they go on changing, it is not worth while
  int orders_ = 0;
  std::vector<PyObject*> values_;  // of the dict at hand
  std::size_t size_;
  std::vector<std::pair<nb::object, std::size_t>> inner_sizes_;
  const Groups* groups_ = nullptr;
  std::string word_;
};

float option(const std::string& text) { return nearest(text); }

Options options_of(const std::vector<std::pair<std::string, std::string>>& settings) {
  Options options;
  for (const auto& [key, text] : settings) {
    if (key == "learning_rate") options.learning_rate = option(text);
    else if (key == "power_t") options.power_t = option(text);
    else if (key == "initial_t") options.initial_t = option(text);
    else if (key == "l1") options.l1 = option(text);
    else if (key == "l2") options.l2 = option(text);
    else if (key == "quantile_tau") options.tau = option(text);
    else if (key == "loss_function") options.loss = loss_named(text);
    else if (key == "noconstant") options.constant = text == "off";
    else throw std::invalid_argument("unknown option " + key);
  }
  return options;
}

using Stand = std::tuple<std::int64_t, double, double>;

Stand stand(const Standing& standing) { return {standing.n, standing.total, standing.weight}; }

// An engine that one thread works with at a time.
class PyEngine {
 public:
  PyEngine(int bits, const std::string& kernel) : engine_(bits, choose(kernel)) {}

  static const Kernel* choose(const std::string& name) {
    const Kernel* kernel = name.empty() ? best_kernel() : kernel_named(name.c_str());
    if (kernel == nullptr) throw std::invalid_argument("this machine cannot run the kernel " + name);
    return kernel;
  }

  // For short calls, which keep Python's lock unless another thread is at work here.
  std::unique_lock<std::mutex> lock() {
    std::unique_lock<std::mutex> held(mutex_, std::try_to_lock);
    if (!held.owns_lock()) {
      nb::gil_scoped_release release;
      held.lock();
    }
    return held;
  }

  Engine& engine() { return engine_; }

  // One question or order, alone with the engine.
  template <class Call>
  auto alone(Call call) {
    const auto held = lock();
    return call(engine_);
  }

  std::optional<std::vector<double>> raw(std::string_view line, const std::vector<std::uint32_t>& models, bool learn) {
    const auto held = lock();
    if (!engine_.parse(line)) return std::nullopt;
    if (learn) {
      engine_.learn();
    } else {
      engine_.predict();
    }
    std::vector<double> found;
    for (const std::uint32_t model : models) found.push_back(engine_.raw(model));
    return found;
  }

  std::optional<double> serve_line(const nb::str& line) {
    const auto held = lock();
    const auto text = utf8_of(line);
    if (!text || !engine_.parse(*text)) return std::nullopt;
    engine_.predict();
    return engine_.loss().served(engine_.raw(engine_.incumbent()));
  }

  std::optional<double> serve_dict(DictPlan& plan, nb::handle dict) {
    const auto held = lock();
    if (!plan.read(dict, engine_.groups(), engine_.example())) return std::nullopt;
    engine_.settle();
    engine_.predict();
    return engine_.loss().served(engine_.raw(engine_.incumbent()));
  }

  // -1: the example needs a second look, and nothing has changed.
  int learn_line(const nb::str& line, nb::handle y, nb::handle weight) {
    const auto held = lock();
    const auto text = utf8_of(line);
    if (!text || !engine_.parse(*text) || !label(y, weight)) return -1;
    return static_cast<int>(engine_.step());
  }

  int learn_dict(DictPlan& plan, nb::handle dict, nb::handle y, nb::handle weight) {
    const auto held = lock();
    if (!plan.read(dict, engine_.groups(), engine_.example())) return -1;
    engine_.settle();
    if (!label(y, weight)) return -1;
    return static_cast<int>(engine_.step());
  }

  int tell(std::string_view line, const std::vector<std::pair<std::uint32_t, double>>& forecast, double served,
           double alone) {
    const auto held = lock();
    const Forecast told{forecast, served, alone};
    if (!engine_.parse(line) || !engine_.take_label()) return -1;
    return static_cast<int>(engine_.step(&told));
  }

  bool observe(std::string_view line) {
    const auto held = lock();
    if (!engine_.parse(line)) return false;
    engine_.observe();
    return true;
  }

  std::tuple<int, std::size_t, std::size_t> advance_text(nb::handle text, std::size_t at, std::size_t end,
                                                         std::size_t limit) {
    const Buffer buffer(text);
    Progress progress{};
    {
      nb::gil_scoped_release release;
      const std::lock_guard<std::mutex> held(mutex_);
      progress = engine_.advance_text(buffer.text().substr(0, end), at, true, limit);
    }
    return {static_cast<int>(progress.status), progress.at, progress.examples};
  }

  std::tuple<int, std::size_t, std::size_t> advance_columns(PyBlock& block, std::size_t row, std::size_t end,
                                                            std::size_t limit) {
    Progress progress{};
    {
      nb::gil_scoped_release release;
      const std::lock_guard<std::mutex> held(mutex_);
      for (std::size_t i = 0; i < block.groups.size(); ++i) {
        block.block.parts[i].group = engine_.groups().number(block.groups[i]);
      }
      progress = engine_.advance_columns(block.block, row, std::min(end, block.block.rows), limit);
    }
    return {static_cast<int>(progress.status), progress.at, progress.examples};
  }

  nb::tuple take_record() {
    Record taken;
    {
      const auto held = lock();  // not while Python makes objects: that may run anything
      Record& record = engine_.record();
      taken.wanted = record.wanted;
      taken.tags_wanted = record.tags_wanted;
      std::swap(taken, record);
    }
    return nb::make_tuple(to_numpy(std::move(taken.predictions)), to_numpy(std::move(taken.labels)),
                          to_numpy(std::move(taken.served_by)), nb::cast(taken.tags));
  }

 private:
  // The label and the weight that were given beside the example, if any.
  bool label(nb::handle y, nb::handle weight) {
    Example& example = engine_.example();
    if (!y.is_none()) {
      if (!PyFloat_CheckExact(y.ptr())) return false;
      const double value = PyFloat_AS_DOUBLE(y.ptr());
      if (!(std::fabs(value) <= static_cast<double>(FLT_MAX))) return false;
      example.labelled = true;
      example.label = static_cast<float>(value);
      const bool rounded = static_cast<double>(example.label) != value;
      if (rounded && engine_.loss().picky()) return false;
    }
    if (!weight.is_none()) {
      if (!PyFloat_CheckExact(weight.ptr())) return false;
      const double value = PyFloat_AS_DOUBLE(weight.ptr());
      if (!(value >= 0.0 && value <= static_cast<double>(FLT_MAX))) return false;
      example.weight = static_cast<float>(value);
    }
    return engine_.take_label();
  }

  Engine engine_;
  std::mutex mutex_;
};

void set_numbers(Column& column, const Floats& numbers) { column.numbers = numbers.data(); }
void set_numbers(Column& column, const Doubles& numbers) { column.doubles = numbers.data(); }
void set_numbers(Column& column, const Integers& numbers) { column.integers = numbers.data(); }
void set_numbers(Column& column, const Longs& numbers) { column.longs = numbers.data(); }

void take_missing(Column& column, const Words& hashes, const Floats& values) {
  if (hashes.shape(0) != values.shape(0)) throw std::invalid_argument("as many values as hashes");
  column.missing_hashes.assign(hashes.data(), hashes.data() + hashes.shape(0));
  column.missing_values.assign(values.data(), values.data() + values.shape(0));
}

template <class Array>
void add_numbers(PyBlock& block, std::size_t part, const std::string& name, Array numbers, const Words& missing_hashes,
                 const Floats& missing_values) {
  if (numbers.shape(0) != block.block.rows) throw std::invalid_argument("a column of another length");
  Column column;
  column.hash = hash_name(name, group_seed(block.groups.at(part)));
  set_numbers(column, numbers);
  take_missing(column, missing_hashes, missing_values);
  block.kept.push_back(nb::cast(numbers));
  block.block.parts.at(part).columns.push_back(std::move(column));
}

void add_cells(PyBlock& block, std::size_t part, Integers cell_of, const Words& starts, const Words& hashes,
               const Floats& values, const Words& missing_hashes, const Floats& missing_values) {
  if (cell_of.shape(0) != block.block.rows) throw std::invalid_argument("a column of another length");
  const auto cells = static_cast<std::int64_t>(starts.shape(0)) - 1;
  for (std::size_t row = 0; row < block.block.rows; ++row) {
    if (cell_of.data()[row] >= cells) throw std::invalid_argument("a row without a cell");
  }
  Column column;
  column.cell_of = cell_of.data();
  column.starts.assign(starts.data(), starts.data() + starts.shape(0));
  column.hashes.assign(hashes.data(), hashes.data() + hashes.shape(0));
  column.values.assign(values.data(), values.data() + values.shape(0));
  std::uint32_t before = 0;
  for (const std::uint32_t start : column.starts) {
    if (start < before || start > column.hashes.size()) throw std::invalid_argument("cells out of order");
    before = start;
  }
  if (column.values.size() != column.hashes.size()) throw std::invalid_argument("as many values as hashes");
  take_missing(column, missing_hashes, missing_values);
  block.kept.push_back(nb::cast(cell_of));
  block.block.parts.at(part).columns.push_back(std::move(column));
}

}  // namespace
}  // namespace chacha

NB_MODULE(_native, module) {
  using namespace chacha;
  module.attr("__version__") = CHACHA_VERSION;

  nb::class_<PyBlock>(module, "ColumnBlock")
      .def("__init__",
           [](PyBlock* self, const std::vector<std::string>& groups, Floats labels, std::optional<Floats> weights) {
             if (weights && weights->shape(0) != labels.shape(0)) {
               throw std::invalid_argument("as many weights as labels");
             }
             new (self) PyBlock();
             self->groups = groups;
             self->block.parts.resize(groups.size());
             self->block.rows = labels.shape(0);
             self->block.labels = labels.data();
             self->kept.push_back(nb::cast(labels));
             if (weights) {
               self->block.weights = weights->data();
               self->kept.push_back(nb::cast(*weights));
             }
           },
           "groups"_a, "labels"_a, "weights"_a.none())
      .def("add_numbers", &add_numbers<Floats>)
      .def("add_numbers", &add_numbers<Doubles>)
      .def("add_numbers", &add_numbers<Integers>)
      .def("add_numbers", &add_numbers<Longs>)
      .def("add_cells", &add_cells)
      .def_prop_ro("rows", [](const PyBlock& self) { return self.block.rows; });

  nb::class_<DictPlan>(module, "DictPlan")
      .def(nb::init<const std::vector<std::tuple<nb::object, nb::object, std::string, std::string>>&, std::size_t,
                    const std::vector<std::pair<nb::object, std::size_t>>&>());

  nb::class_<PyEngine>(module, "Engine", nb::is_weak_referenceable())
      .def(nb::init<int, const std::string&>(), "bits"_a, "kernel"_a = "")
      .def("start",
           [](PyEngine& self, int bits, const std::vector<std::pair<std::string, std::string>>& settings,
              const std::vector<std::vector<std::string>>& products, int source) {
             const auto held = self.lock();
             return self.engine().start(bits, options_of(settings), products, source);
           },
           "bits"_a, "settings"_a, "products"_a, "source"_a = -1)
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
      .def("tell", &PyEngine::tell)
      .def("observe", &PyEngine::observe)
      .def("advance_text", &PyEngine::advance_text)
      .def("advance_columns", &PyEngine::advance_columns)
      .def("take_record", &PyEngine::take_record)
      .def("pass_over",
           [](PyEngine& self, nb::handle text, int depth) {
             const Buffer buffer(text);
             return self.alone([&](Engine& engine) { return engine.pass_over(buffer.text(), depth); });
           })
      .def("record",
           [](PyEngine& self, bool wanted, bool tags) {
             const auto held = self.lock();
             self.engine().record().wanted = wanted;
             self.engine().record().tags_wanted = wanted && tags;
           })
      .def("set_rules",
           [](PyEngine& self, const std::string& loss, double tau, double floor, double scale, double delta,
              bool log_in_root, double p, std::optional<double> comp, bool natural, double log_of_base,
              bool count_challengers, std::int64_t burn_in) {
             const auto held = self.lock();
             self.engine().set_rules({loss_named(loss), tau, floor},
                                     {scale, delta, log_in_root, p, comp.has_value(), comp.value_or(0.0), natural,
                                      log_of_base, count_challengers, burn_in});
           },
           "loss"_a, "tau"_a, "floor"_a, "scale"_a, "delta"_a, "log_in_root"_a, "p"_a, "comp"_a.none(), "natural"_a,
           "log_of_base"_a, "count_challengers"_a, "burn_in"_a)
      .def("set_contenders",
           [](PyEngine& self, const std::vector<std::tuple<std::uint32_t, bool, std::int64_t>>& contenders,
              std::uint32_t incumbent, std::int64_t challengers, bool restless) {
             const auto held = self.lock();
             std::vector<Contender> made;
             for (const auto& [model, challenger, lease] : contenders) made.push_back({model, challenger, lease});
             self.engine().set_contenders(std::move(made), incumbent, challengers, restless);
           })
      .def("set_baseline", [](PyEngine& self, std::uint32_t model) {
        self.alone([&](Engine& engine) { engine.set_baseline(model); });
      })
      .def("wait_for", [](PyEngine& self, int what) {
        self.alone([&](Engine& engine) { engine.wait_for(static_cast<Wait>(what)); });
      })
      .def("set_observed_bits", [](PyEngine& self, int bits) {
        self.alone([&](Engine& engine) { engine.set_observed_bits(bits); });
      })
      .def("set_standing",
           [](PyEngine& self, std::uint32_t model, const Stand& s) {
             const auto held = self.lock();
             self.engine().set_standing(model, {std::get<0>(s), std::get<1>(s), std::get<2>(s)});
           })
      .def("standing", [](PyEngine& self, std::uint32_t model) {
        return self.alone([&](Engine& engine) { return stand(engine.standing(model)); });
      })
      .def_prop_ro("served", [](PyEngine& self) { return self.alone([](Engine& e) { return stand(e.served()); }); })
      .def_prop_ro("alone", [](PyEngine& self) { return self.alone([](Engine& e) { return stand(e.alone()); }); })
      .def_prop_ro("metrics",
                   [](PyEngine& self) {
                     const auto held = self.lock();
                     return std::pair(self.engine().first_metric(), self.engine().second_metric());
                   })
      .def_prop_ro("t", [](PyEngine& self) { return self.alone([](Engine& e) { return e.t(); }); })
      .def_prop_ro("incumbent", [](PyEngine& self) { return self.alone([](Engine& e) { return e.incumbent(); }); })
      .def_prop_ro("served_raw", [](PyEngine& self) { return self.alone([](Engine& e) { return e.served_raw(); }); })
      .def_prop_ro("served_loss", [](PyEngine& self) { return self.alone([](Engine& e) { return e.served_loss(); }); })
      .def_prop_ro("low", [](PyEngine& self) { return self.alone([](Engine& e) { return e.observed().low(); }); })
      .def_prop_ro("high", [](PyEngine& self) { return self.alone([](Engine& e) { return e.observed().high(); }); })
      .def_prop_ro("raw_features",
                   [](PyEngine& self) { return self.alone([](Engine& e) { return e.observed().raw_features(); }); })
      .def_prop_ro("sizes",
                   [](PyEngine& self) {
                     std::vector<std::pair<std::string, std::int64_t>> found;
                     self.alone([&](Engine& engine) {
                       for (std::uint32_t group = 0; group < engine.groups().size(); ++group) {
                         if (!engine.observed().has(group)) continue;
                         found.emplace_back(engine.groups()[group].name, engine.observed().exact_size(group));
                       }
                     });
                     nb::dict sizes;
                     for (const auto& [name, size] : found) sizes[nb::str(name.data(), name.size())] = size;
                     return sizes;
                   })
      .def("dump",
           [](PyEngine& self, std::uint32_t model) {
             Dump dump = self.alone([&](Engine& engine) { return engine.dump(model); });
             return nb::make_tuple(to_numpy(std::move(dump.index)), to_numpy(std::move(dump.w)),
                                   to_numpy(std::move(dump.adaptive)), to_numpy(std::move(dump.norm)));
           })
      .def("load",
           [](PyEngine& self, std::uint32_t model, const Words& index, const Floats& w, const Floats& adaptive,
              const Floats& norm) {
             const auto held = self.lock();
             Dump dump;
             dump.index.assign(index.data(), index.data() + index.shape(0));
             dump.w.assign(w.data(), w.data() + w.shape(0));
             dump.adaptive.assign(adaptive.data(), adaptive.data() + adaptive.shape(0));
             dump.norm.assign(norm.data(), norm.data() + norm.shape(0));
             if (dump.w.size() != dump.index.size() || dump.adaptive.size() != dump.index.size() ||
                 dump.norm.size() != dump.index.size()) {
               throw std::invalid_argument("weights of different lengths");
             }
             self.engine().load(model, dump);
           })
      .def("state",
           [](PyEngine& self, std::uint32_t model) {
             const auto held = self.lock();
             const ModelState s = self.engine().state(model);
             return std::tuple(s.sum_norm_x, s.total_weight, s.low, s.high, s.gravity, s.contraction);
           })
      .def("set_state",
           [](PyEngine& self, std::uint32_t model,
              const std::tuple<double, double, float, float, double, double>& s) {
             const auto held = self.lock();
             self.engine().set_state(model, {std::get<0>(s), std::get<1>(s), std::get<2>(s), std::get<3>(s),
                                             std::get<4>(s), std::get<5>(s)});
           })
      .def_prop_ro("bytes", [](PyEngine& self) { return self.alone([](Engine& e) { return e.bytes(); }); })
      .def_prop_ro("kernel", [](PyEngine& self) { return self.engine().kernel()->name; });

  module.def("kernels", [] {
    std::vector<std::string> names;
    for (const char* name : {"plain", "avx2", "avx512"}) {
      if (kernel_named(name) != nullptr) names.emplace_back(name);
    }
    return names;
  });
  module.def("murmur", [](nb::bytes data, std::uint32_t seed) { return murmur({data.c_str(), data.size()}, seed); });
  module.def("hash_name", [](std::string_view name, std::uint32_t seed) { return hash_name(name, seed); });
  module.def("read_line", [](nb::handle line) -> nb::object {
    Groups groups;
    Example example;
    const bool is_bytes = PyBytes_Check(line.ptr()) != 0;
    const auto text = is_bytes ? std::string_view(PyBytes_AS_STRING(line.ptr()), nb::len(line)) : utf8_of(line);
    if (!text || !parse_line(*text, groups, example)) return nb::none();
    nb::list runs;
    for (const Run& run : example.runs) {
      nb::list features;
      for (std::uint32_t i = run.begin; i < run.end; ++i) {
        features.append(nb::make_tuple(example.hashes[i], static_cast<double>(example.values[i])));
      }
      runs.append(nb::make_tuple(nb::str(groups[run.group].name.data(), groups[run.group].name.size()), features));
    }
    nb::object label = example.labelled ? nb::cast(static_cast<double>(example.label)) : nb::none();
    return nb::make_tuple(runs, label, static_cast<double>(example.weight), static_cast<double>(example.initial),
                          nb::str(example.tag.data(), example.tag.size()));
  });
}
