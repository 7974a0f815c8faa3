// Dicts as examples, without text between; part of module.cpp.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "data/example.hpp"
#include "data/groups.hpp"
#include "data/names.hpp"
#include "vw/hashing.hpp"

namespace chacha {
namespace {

// How to read dicts with the same keys: their entries in VW's order. A plan does not change and
// knows nothing of an engine, so any number of engines and threads can share it.
//
// Nothing here runs Python code: the keys of a dict must be exact strs. A thread that reads a dict
// therefore holds Python's lock until all values are read.
class DictPlan {
 public:
  // Entries: key of the outer dict, key of the inner dict (or None), group, name of the feature,
  // and the group that gets a feature if the value is None (or ""). Entries of a group are
  // neighbours.
  using EntryTuples =
      std::vector<std::tuple<nb::object, nb::object, std::string, std::string, std::string>>;
  using KeyNumbers = std::vector<std::pair<nb::object, std::size_t>>;
  using Values = std::vector<PyObject*>;  // borrowed, in the order of the entries

  struct Entry {
    nb::object outer, inner;
    std::string group, name, missing;
    std::uint32_t hash;
    std::uint32_t missing_hash;  // of the feature in the group `missing`
  };

  DictPlan(const EntryTuples& entries, std::size_t size, const KeyNumbers& inner_sizes)
      : number_(next_number()), size_(size), inner_sizes_(inner_sizes) {
    for (const auto& [outer, inner, group, name, missing] : entries) {
      const std::uint32_t hash = hash_name(name, group_seed(group));
      const std::uint32_t missing_hash = missing.empty() ? 0 : hash_name(name, group_seed(missing));
      entries_.push_back({outer, inner, group, name, missing, hash, missing_hash});
    }
  }

  const std::vector<Entry>& entries() const { return entries_; }
  std::uint64_t number() const { return number_; }  // no other plan of the process has it

  // Finds the values of all entries. False if the dict has other keys.
  bool find_values(PyObject* dict, Values& values) const {
    if (!has_size(dict, size_)) return false;
    values.resize(entries_.size());
    return read_in_order(dict, values) || look_up(dict, values);
  }

 private:
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  static bool has_size(PyObject* object, std::size_t size) {
    return PyDict_CheckExact(object) && static_cast<std::size_t>(PyDict_GET_SIZE(object)) == size;
  }

  // Whether looking up a str in the dict runs no Python code.
  static bool has_text_keys(PyObject* dict) {
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value) != 0) {
      if (!PyUnicode_CheckExact(key)) return false;
    }
    return true;
  }

  // Reads the values of a flat dict whose keys have the order of the last one, without lookups.
  bool read_in_order(PyObject* dict, Values& values) const {
    if (order_.size() != entries_.size() || !inner_sizes_.empty()) return false;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t at = 0;
    for (const auto& [expected, entry] : order_) {
      if (PyDict_Next(dict, &at, &key, &value) == 0) return false;
      if (!same_text(key, expected.ptr())) return false;
      values[entry] = value;
    }
    return true;
  }

  // Looks up the values, and remembers the order of the keys.
  bool look_up(PyObject* dict, Values& values) const {
    if (!has_text_keys(dict)) return false;
    for (const auto& [key, size] : inner_sizes_) {
      PyObject* inner = PyDict_GetItem(dict, key.ptr());
      if (inner == nullptr || !has_size(inner, size) || !has_text_keys(inner)) return false;
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      PyObject* value = PyDict_GetItem(dict, entries_[i].outer.ptr());
      if (value != nullptr && !entries_[i].inner.is_none()) {
        value = PyDict_GetItem(value, entries_[i].inner.ptr());
      }
      if (value == nullptr) return false;
      values[i] = value;
    }
    if (inner_sizes_.empty() && orders_ < kMostOrders) remember_order(dict, values);
    return true;
  }

  static bool same_text(PyObject* a, PyObject* b) {
    if (a == b) return true;
    if (!PyUnicode_CheckExact(a)) return false;
    const Py_ssize_t length = PyUnicode_GET_LENGTH(a);
    const int kind = PyUnicode_KIND(a);
    if (length != PyUnicode_GET_LENGTH(b) || kind != PyUnicode_KIND(b)) return false;
    const auto bytes = static_cast<std::size_t>(length) * static_cast<std::size_t>(kind);
    return std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), bytes) == 0;
  }

  void remember_order(PyObject* dict, const Values& values) const {
    ++orders_;
    order_.clear();
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value) != 0) {
      for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (values[i] != value || !same_text(key, entries_[i].outer.ptr())) continue;
        order_.emplace_back(nb::borrow(key), i);
      }
    }
  }

  std::uint64_t number_;
  std::vector<Entry> entries_;
  std::size_t size_;
  KeyNumbers inner_sizes_;
  // A cache, guarded by Python's lock: keys in the order of the last dict, and their entries.
  mutable KeyNumbers order_;
  mutable int orders_ = 0;
  static constexpr int kMostOrders = 8;  // after this many changes no order is remembered
};

// Reads dicts for one engine, and knows the names of the features of the last one.
class DictRows : public Names {
 public:
  explicit DictRows(Groups& groups) : groups_(groups) {}

  // False if the dict has other keys than the plan, or a value that needs a closer look.
  // `with_reads`: numbers are centred later, so all of them are part of the example.
  bool read(const DictPlan& plan, nb::handle dict, Example& example, bool with_reads) {
    if (!plan.find_values(dict.ptr(), values_)) return false;
    with_reads_ = with_reads;
    use(plan);
    const std::vector<DictPlan::Entry>& entries = plan.entries();
    example.clear();
    example.reserve(entries.size());
    std::uint32_t open = kNoGroup;
    const auto switch_to = [&](std::uint32_t group) {
      if (group == open) return;
      if (open != kNoGroup) example.close();
      open = group;
      example.open(open, groups_.letter(open));
    };
    bool missing = false;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      switch_to(numbers_[i]);
      missing |= values_[i] == Py_None && !entries[i].missing.empty();
      if (!add(entries[i], values_[i], open, example)) return false;
    }
    for (std::size_t i = 0; missing && i < entries.size(); ++i) {
      if (values_[i] != Py_None || entries[i].missing.empty()) continue;
      switch_to(groups_.number(entries[i].missing));
      example.add(entries[i].missing_hash, 1.0F);
    }
    if (open != kNoGroup) example.close();
    if (with_reads_) example.add_reads();
    return true;
  }

  // The words of the last dict, by entry: with the plan, all that its features' names are made of.
  using Words = std::vector<std::pair<std::uint32_t, nb::object>>;
  Words words() const {
    Words words;
    for (std::uint32_t i = 0; i < values_.size(); ++i) {
      if (PyUnicode_CheckExact(values_[i])) words.emplace_back(i, nb::borrow(values_[i]));
    }
    return words;
  }

  // From now on the names are those of a dict that was read earlier.
  void recall(const DictPlan& plan, const Words& words) {
    use(plan);
    values_.assign(plan.entries().size(), Py_None);
    for (const auto& [entry, word] : words) values_[entry] = word.ptr();
  }

  std::string name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const override {
    const std::vector<DictPlan::Entry>& entries = plan_->entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (numbers_[i] != group) continue;
      const auto text = PyUnicode_CheckExact(values_[i]) ? utf8_of(values_[i]) : std::nullopt;
      std::string name = text ? entries[i].name + "=" + std::string(*text) : entries[i].name;
      if (text ? hash_name(name, groups.seed(group)) == hash : entries[i].hash == hash) return name;
    }
    return std::to_string(hash - groups.seed(group));
  }

 private:
  using GroupNumbers = std::vector<std::uint32_t>;  // by entry
  struct NumberedPlan {
    std::uint64_t plan;
    GroupNumbers groups;
  };
  static constexpr std::uint32_t kNoGroup = 0xffffffffU;
  static constexpr std::size_t kMostPlans = 16;  // whose group numbers are remembered

  // Finds the numbers that the groups of the plan have in this engine.
  void use(const DictPlan& plan) {
    plan_ = &plan;
    if (!numbered_.empty() && numbered_.back().plan == plan.number()) {
      numbers_ = numbered_.back().groups.data();
      return;
    }
    const auto same = [&](const NumberedPlan& one) { return one.plan == plan.number(); };
    const auto at = std::find_if(numbered_.begin(), numbered_.end(), same);
    if (at == numbered_.end()) {
      NumberedPlan one{plan.number(), {}};
      one.groups.reserve(plan.entries().size());
      for (const DictPlan::Entry& entry : plan.entries()) {
        one.groups.push_back(groups_.number(entry.group));
      }
      if (numbered_.size() == kMostPlans) numbered_.erase(numbered_.begin());
      numbered_.push_back(std::move(one));
    } else {
      std::rotate(at, at + 1, numbered_.end());  // the last one used is the last
    }
    numbers_ = numbered_.back().groups.data();
  }

  bool add(const DictPlan::Entry& entry, PyObject* value, std::uint32_t group, Example& example) {
    double number;
    if (PyFloat_CheckExact(value)) {
      number = PyFloat_AS_DOUBLE(value);
    } else if (PyLong_CheckExact(value) || PyBool_Check(value)) {
      int overflow = 0;
      const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
      if (overflow != 0 || whole > (1LL << 53) || whole < -(1LL << 53)) return false;
      number = static_cast<double>(whole);
    } else if (PyUnicode_CheckExact(value)) {
      return add_word(entry, value, group, example);
    } else {
      if (with_reads_ && value == Py_None) example.add_number(entry.hash, kNoNumber);
      return value == Py_None;
    }
    const auto single = static_cast<float>(number);  // the nearest float
    if (!std::isfinite(single)) return false;
    if (with_reads_) {
      example.add_number(entry.hash, number);
    } else if (single != 0.0F) {
      example.add(entry.hash, single);
    }
    return true;
  }

  bool add_word(const DictPlan::Entry& entry, PyObject* value, std::uint32_t group,
                Example& example) {
    const auto text = utf8_of(value);
    if (!text || text->empty()) return false;
    word_.assign(entry.name);
    word_.push_back('=');
    for (const char c : *text) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!letter && !is_digit(c) && c != '_' && c != '-') return false;
    }
    word_.append(*text);
    example.add(hash_name(word_, groups_.seed(group)), 1.0F);
    return true;
  }

  Groups& groups_;
  std::vector<NumberedPlan> numbered_;
  // The current dict.
  const DictPlan* plan_ = nullptr;
  const std::uint32_t* numbers_ = nullptr;  // groups, by entry
  DictPlan::Values values_;
  bool with_reads_ = false;
  std::string word_;
};

void bind_dicts(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<DictPlan>(module, "DictPlan", nb::is_weak_referenceable(),
                       "How to read dicts with the same keys.")
      .def(nb::init<const DictPlan::EntryTuples&, std::size_t, const DictPlan::KeyNumbers&>(),
           "entries"_a, "size"_a, "inner_sizes"_a);
}

}  // namespace
}  // namespace chacha
