// The engine for Python, with a lock; part of module.cpp.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/columns.hpp"
#include "bindings/dicts.hpp"
#include "bindings/tickets.hpp"
#include "engine/engine.hpp"

namespace chacha {
namespace {

// A loss and its parameters by name, as src/chacha/losses.py gives them.
using LossTuple = std::pair<std::string, std::vector<std::pair<std::string, double>>>;

// A label or a weight as it came: a float, None, or what needs a closer look.
using PyNumber = nb::typed<nb::handle, double>;

// The cells of numbers of a row: group, position among the features of the group, name, number. A
// number that is 0 or missing (NaN) is not in the line of the row.
using NumberCells = std::vector<std::tuple<std::string, std::uint32_t, std::string, double>>;

// The bytes of a Python object: bytes, a bytearray, an mmap.
class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::string_view text() const {
    return {static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

// The names of the features of a row: those of its line, and those of numbers that are not in it.
struct RowNames : TextNames {
  const NumberCells* numbers = nullptr;

  std::string name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const override {
    for (const auto& [group_name, position, name, number] : *numbers) {
      if (groups[group].name != group_name) continue;
      if (hash_name(name, groups.seed(group)) == hash) return name;
    }
    return TextNames::name(groups, group, hash);
  }
};

// An engine that one thread uses at a time.
class PyEngine {
 public:
  PyEngine(int bits, const std::string& kernel)
      : number_(next_number()), engine_(bits, choose(kernel)) {}

  static const Kernel* choose(const std::string& name) {
    const Kernel* kernel = name.empty() ? best_kernel() : kernel_named(name.c_str());
    if (kernel == nullptr) {
      throw std::invalid_argument("this machine cannot run the kernel " + name);
    }
    return kernel;
  }

  // For short calls, which keep Python's lock unless another thread uses the engine.
  std::unique_lock<std::recursive_mutex> lock() {
    std::unique_lock<std::recursive_mutex> held(mutex_, std::try_to_lock);
    if (!held.owns_lock()) {
      nb::gil_scoped_release release;
      held.lock();
    }
    refuse_inside_test();
    return held;
  }

  // Keep other threads out between calls, such as those of a decision.
  void hold() { lock().release(); }
  void let_go() { mutex_.unlock(); }

  // Makes Python's `payoff` the test of promotions. If it raises an exception, nothing is bet and
  // the exception is appended to `failures`: the example is learned as a whole.
  auto custom_test(nb::object payoff, nb::object failures) {
    payoff_ = std::move(payoff);
    failures_ = std::move(failures);
    return [this](double mean, double variance, double gain, double harm) {
      const nb::gil_scoped_acquire gil;
      double result = 1.0;
      inside_test_ = true;
      try {
        result = nb::cast<double>(payoff_(mean, variance, gain, harm));
      } catch (nb::python_error& error) {
        PyList_Append(failures_.ptr(), error.value().ptr());
      } catch (const std::exception& error) {
        nb::object raised = nb::module_::import_("builtins").attr("TypeError")(error.what());
        PyList_Append(failures_.ptr(), raised.ptr());
      }
      inside_test_ = false;
      return result;
    };
  }

  // The Python objects that the engine refers to, for the garbage collector.
  int traverse(visitproc visit, void* arg) {
    Py_VISIT(payoff_.ptr());
    Py_VISIT(failures_.ptr());
    return 0;
  }
  void clear() {
    payoff_.reset();
    failures_.reset();
  }

  Engine& engine() { return engine_; }

  // Calls a function with the engine while holding the lock.
  template <class Call>
  auto locked(Call call) {
    const auto held = lock();
    return call(engine_);
  }

  // Reads a row that Python has read, given the numbers of its cells.
  bool parse(std::string_view line, const NumberCells& numbers) {
    if (numbers.empty() || !engine_.centring().on()) return engine_.parse(line);
    cells_.clear();
    for (const auto& [group, position, name, number] : numbers) {
      const std::uint32_t hash = hash_name(name, group_seed(group));
      cells_.push_back({engine_.groups().number(group), position, hash, number});
    }
    row_names_.line = line;
    row_names_.numbers = &numbers;
    return engine_.parse_row(line, cells_, row_names_);
  }

  std::optional<std::vector<double>> raw(std::string_view line,
                                         const std::vector<std::uint32_t>& models, bool learn,
                                         const NumberCells& numbers) {
    const auto held = lock();
    if (!parse(line, numbers)) return std::nullopt;
    if (learn) {
      engine_.learn();
    } else {
      engine_.predict();
    }
    std::vector<double> predictions;
    for (const std::uint32_t model : models) predictions.push_back(engine_.raw(model));
    return predictions;
  }

  // Nothing if the example needs a closer look. Nothing between an example and the decision that is
  // due after it either: another thread is about to make it.
  std::optional<double> serve_line(const nb::str& line) {
    const auto held = lock();
    const auto text = utf8_of(line);
    if (engine_.decision_due() || !text || !engine_.parse(*text)) return std::nullopt;
    engine_.predict();
    return engine_.loss().served(engine_.served_now());
  }

  std::optional<double> serve_dict(const DictPlan& plan, nb::handle dict) {
    const auto held = lock();
    if (engine_.decision_due() || !read_dict(plan, dict)) return std::nullopt;
    engine_.order_runs(dicts_);
    engine_.predict();
    return engine_.loss().served(engine_.served_now());
  }

  // Returns a Status, or -1 if the example needs a closer look; then nothing has changed.
  int learn_line(const nb::str& line, PyNumber y, PyNumber weight) {
    const auto held = lock();
    const auto text = utf8_of(line);
    if (!text || !engine_.parse(*text) || !set_label(y, weight)) return -1;
    return static_cast<int>(engine_.step());
  }

  // The same for a row that Python has read, with the numbers of its cells.
  int learn_row(std::string_view line, PyNumber y, const NumberCells& numbers) {
    const auto held = lock();
    if (!parse(line, numbers) || !set_label(y, nb::none())) return -1;
    return static_cast<int>(engine_.step());
  }

  int learn_dict(const DictPlan& plan, nb::handle dict, PyNumber y, PyNumber weight) {
    const auto held = lock();
    if (!read_dict(plan, dict)) return -1;
    engine_.order_runs(dicts_);
    if (!set_label(y, weight)) return -1;
    return static_cast<int>(engine_.step());
  }

  // Predicts an example whose label comes late; nothing if it needs a closer look. A label in the
  // line is ignored.
  std::optional<Asked> ask_line(const nb::str& line) {
    const auto held = lock();
    const auto text = utf8_of(line);
    if (engine_.decision_due() || !text) return std::nullopt;
    if (!parse_line(*text, engine_.groups(), engine_.example())) return std::nullopt;
    SavedExample example(engine_.example());
    text_.line = *text;
    engine_.order_runs(text_);
    return predicted({number_, std::move(example), line, {}, {}, {}});
  }

  std::optional<Asked> ask_dict(nb::handle_t<DictPlan> plan, nb::handle dict) {
    const auto held = lock();
    const DictPlan& read_by = *nb::inst_ptr<DictPlan>(plan);
    if (engine_.decision_due() || !read_dict(read_by, dict)) {
      return std::nullopt;
    }
    SavedExample example(engine_.example());
    engine_.order_runs(dicts_);
    return predicted({number_, std::move(example), {}, nb::borrow(plan), dicts_.words(), {}});
  }

  // Learns an asked example, and charges the models for what they predicted then. Returns what
  // learn_line does.
  int tell(Asked& asked, PyNumber y, PyNumber weight) {
    const auto held = lock();
    if (asked.engine != number_) throw std::invalid_argument("another engine was asked");
    if (asked.learned) throw std::invalid_argument("it already has its label");
    asked.example.restore(engine_.example(), engine_.groups());
    if (asked.plan.is_valid()) {
      dicts_.recall(*nb::inst_ptr<DictPlan>(asked.plan), asked.words);
      engine_.order_runs(dicts_);
    } else {
      text_.line = utf8_of(asked.line).value();
      engine_.order_runs(text_);
    }
    if (!set_label(y, weight)) return -1;
    asked.forecast(engine_, forecast_);
    const Status status = engine_.step(&forecast_);
    asked.learned = status == Status::kFine || status == Status::kDecide;
    return static_cast<int>(status);
  }

  // The same for a line of text with its label, and for the given predictions.
  int tell_line(std::string_view line, const std::vector<Prediction>& raw, double served,
                double baseline, double constant, PyNumber y, const NumberCells& numbers) {
    const auto held = lock();
    if (!parse(line, numbers) || !set_label(y, nb::none())) return -1;
    Forecast forecast{{}, served, baseline, constant};
    take_same(engine_, raw, forecast);
    return static_cast<int>(engine_.step(&forecast));
  }

  // Counts the groups and features of an asked line; a label in it is ignored.
  bool observe(std::string_view line, const NumberCells& numbers) {
    const auto held = lock();
    if (!parse(line, numbers)) return false;
    engine_.example().labelled = false;
    engine_.observe();
    return true;
  }

  using ProgressTuple = std::tuple<int, std::size_t, std::size_t>;

  ProgressTuple advance_text(nb::handle text, std::size_t at, std::size_t end, std::size_t limit) {
    const Buffer buffer(text);
    BlockProgress progress{};
    {
      nb::gil_scoped_release release;
      const std::lock_guard<std::recursive_mutex> held(mutex_);
      refuse_inside_test();
      progress = engine_.advance_text(buffer.text().substr(0, end), at, true, limit);
    }
    return {static_cast<int>(progress.status), progress.at, progress.examples};
  }

  ProgressTuple advance_columns(PyBlock& block, std::size_t row, std::size_t end,
                                std::size_t limit) {
    BlockProgress progress{};
    {
      nb::gil_scoped_release release;
      const std::lock_guard<std::recursive_mutex> held(mutex_);
      refuse_inside_test();
      for (std::size_t i = 0; i < block.groups.size(); ++i) {
        block.block.parts[i].group = engine_.groups().number(block.groups[i]);
      }
      progress = engine_.advance_columns(block.block, row, std::min(end, block.block.rows), limit);
    }
    return {static_cast<int>(progress.status), progress.at, progress.examples};
  }

  // The models that serve: the champion, the challenger blended in, and its share.
  std::tuple<std::uint32_t, std::uint32_t, double> serving() const {
    const std::uint32_t champion = engine_.incumbent();
    const ContestState& contest = engine_.contest().state();
    if (!contest.serving.blends()) return {champion, champion, 0.0};
    return {champion, contest.other().model, contest.serving.share};
  }

  auto take_record() {
    Record result;
    {
      const auto held = lock();  // not while Python objects are made: that may run any code
      Record& record = engine_.record();
      result.wanted = record.wanted;
      result.tags_wanted = record.tags_wanted;
      std::swap(result, record);
    }
    return std::tuple(to_numpy(std::move(result.predictions)), to_numpy(std::move(result.labels)),
                      to_numpy(std::move(result.served_by)), std::move(result.tags),
                      to_numpy(std::move(result.others)), to_numpy(std::move(result.shares)));
  }

 private:
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  void refuse_inside_test() const {
    if (inside_test_) throw std::runtime_error("a custom test cannot use the model that it tests");
  }

  bool read_dict(const DictPlan& plan, nb::handle dict) {
    return dicts_.read(plan, dict, engine_.example(), engine_.centring().on());
  }

  // Predicts the current example for all models.
  Asked predicted(Asked asked) {
    engine_.predict();
    asked.predictions.reserve(engine_.number_limit());
    for (std::uint32_t model = 0; model < engine_.number_limit(); ++model) {
      const std::uint64_t incarnation = engine_.incarnation(model);
      if (incarnation == 0) continue;
      asked.predictions.emplace_back(model, incarnation, engine_.raw(model));
    }
    asked.served = engine_.served_now();
    asked.prediction = engine_.loss().served(asked.served);
    if (engine_.baseline() >= 0) {
      asked.baseline = engine_.raw(static_cast<std::uint32_t>(engine_.baseline()));
    }
    asked.constant = engine_.constant();
    asked.serving = serving();
    return asked;
  }

  // Sets the label and the weight that came beside the example, if any.
  bool set_label(PyNumber y, PyNumber weight) {
    Example& example = engine_.example();
    if (!y.is_none()) {
      if (!PyFloat_CheckExact(y.ptr())) return false;
      const double value = PyFloat_AS_DOUBLE(y.ptr());
      if (!(std::fabs(value) <= static_cast<double>(FLT_MAX))) return false;
      example.set_label(value);
      const bool rounded = static_cast<double>(example.label) != value;
      if (rounded && engine_.loss().refuses_some_labels()) return false;
    }
    if (!weight.is_none()) {
      if (!PyFloat_CheckExact(weight.ptr())) return false;
      const double value = PyFloat_AS_DOUBLE(weight.ptr());
      if (!(value >= 0.0 && value <= static_cast<double>(FLT_MAX))) return false;
      example.weight = static_cast<float>(value);
    }
    return engine_.take_label();
  }

  std::uint64_t number_;  // no other engine of the process has it
  Engine engine_;
  DictRows dicts_{engine_.groups()};
  TextNames text_;                 // of an asked line
  std::vector<NumberCell> cells_;  // of a row that Python has read
  RowNames row_names_;
  Forecast forecast_;           // of an asked example
  std::recursive_mutex mutex_;  // a custom test may try to use the engine that called it
  bool inside_test_ = false;
  nb::object payoff_, failures_;  // of a custom test
};

// The engine refers to a custom test, which may refer to a model and so to the engine.
int traverse_engine(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<PyEngine>(self)->traverse(visit, arg) : 0;
}

int clear_engine(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<PyEngine>(self)->clear();
  return 0;
}

PyType_Slot engine_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_engine)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_engine)},
                              {0, nullptr}};

}  // namespace
}  // namespace chacha
