// Dicts as examples, without text between; part of module.cpp.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

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

// How to read dicts with the same keys: their entries in VW's order.
class DictPlan : public Names {
 public:
  // Entries: key of the outer dict, key of the inner dict (or None), group, name of the feature,
  // and the group that gets a feature if the value is None (or ""). Entries of a group are
  // neighbours.
  using Entries =
      std::vector<std::tuple<nb::object, nb::object, std::string, std::string, std::string>>;
  using KeyNumbers = std::vector<std::pair<nb::object, std::size_t>>;

  DictPlan(const Entries& entries, std::size_t size, const KeyNumbers& inner_sizes)
      : size_(size), inner_sizes_(inner_sizes) {
    entries_.reserve(entries.size());
    for (const auto& [outer, inner, group, name, missing] : entries) {
      const std::uint32_t hash = hash_name(name, group_seed(group));
      entries_.push_back({outer, inner, group, name, missing, hash, 0});
    }
  }

  // False if the dict has other keys, or a value that needs a closer look.
  bool read(nb::handle dict, Groups& groups, Example& example) {
    if (!has_size(dict.ptr(), size_)) return false;
    for (const auto& [key, size] : inner_sizes_) {
      PyObject* inner = PyDict_GetItem(dict.ptr(), key.ptr());
      if (inner == nullptr || !has_size(inner, size)) return false;
    }
    if (groups_ != &groups) number(groups);
    if (!read_in_order(dict.ptr()) && !look_up(dict.ptr())) return false;
    example.clear();
    example.reserve(entries_.size());
    std::uint32_t open = kNoGroup;
    const auto switch_to = [&](std::uint32_t group) {
      if (group == open) return;
      if (open != kNoGroup) example.close();
      open = group;
      example.open(open, groups.letter(open));
    };
    bool missing = false;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      switch_to(entries_[i].number);
      missing |= values_[i] == Py_None && !entries_[i].missing.empty();
      if (!add(entries_[i], values_[i], groups, example)) return false;
    }
    for (std::size_t i = 0; missing && i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (values_[i] != Py_None || entry.missing.empty()) continue;
      switch_to(groups.number(entry.missing));
      example.add(hash_name(entry.name, groups.seed(open)), 1.0F);
    }
    if (open != kNoGroup) example.close();
    return true;
  }

  std::string name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const override {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (entry.number != group) continue;
      const auto text = PyUnicode_CheckExact(values_[i]) ? utf8_of(values_[i]) : std::nullopt;
      std::string name = text ? entry.name + "=" + std::string(*text) : entry.name;
      if (text ? hash_name(name, groups.seed(group)) == hash : entry.hash == hash) return name;
    }
    return std::to_string(hash - groups.seed(group));
  }

 private:
  struct Entry {
    nb::object outer, inner;
    std::string group, name, missing;
    std::uint32_t hash, number;
  };
  static constexpr std::uint32_t kNoGroup = 0xffffffffU;

  static bool has_size(PyObject* object, std::size_t size) {
    return PyDict_CheckExact(object) && static_cast<std::size_t>(PyDict_GET_SIZE(object)) == size;
  }

  // Reads the values of a flat dict whose keys have the order of the last one, without lookups.
  bool read_in_order(PyObject* dict) {
    if (order_.size() != entries_.size() || !inner_sizes_.empty()) return false;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t at = 0;
    for (const auto& [expected, entry] : order_) {
      if (PyDict_Next(dict, &at, &key, &value) == 0) return false;
      if (!same_text(key, expected.ptr())) return false;
      values_[entry] = value;
    }
    return true;
  }

  // Looks up the values, and remembers the order of the keys.
  bool look_up(PyObject* dict) {
    values_.resize(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      PyObject* value = PyDict_GetItem(dict, entries_[i].outer.ptr());
      if (value != nullptr && !entries_[i].inner.is_none()) {
        value = PyDict_GetItem(value, entries_[i].inner.ptr());
      }
      if (value == nullptr) return false;
      values_[i] = value;
    }
    if (inner_sizes_.empty() && orders_ < kMostOrders) remember_order(dict);
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
    const auto single = static_cast<float>(number);  // the nearest float
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
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!letter && !is_digit(c) && c != '_' && c != '-') return false;
    }
    word_.append(*text);
    example.add(hash_name(word_, groups[entry.number].seed), 1.0F);
    return true;
  }

  std::vector<Entry> entries_;
  KeyNumbers order_;                     // keys in the order of the last dict, and their entries
  static constexpr int kMostOrders = 8;  // after this many changes no order is remembered
  int orders_ = 0;
  std::vector<PyObject*> values_;  // of the current dict
  std::size_t size_;
  KeyNumbers inner_sizes_;
  const Groups* groups_ = nullptr;
  std::string word_;
};

void bind_dicts(nb::module_& module) {
  nb::class_<DictPlan>(module, "DictPlan")
      .def(nb::init<const DictPlan::Entries&, std::size_t, const DictPlan::KeyNumbers&>());
}

}  // namespace
}  // namespace chacha
