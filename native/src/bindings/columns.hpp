// Columns of tables; part of module.cpp.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "data/column_block.hpp"
#include "data/text_words.hpp"
#include "vw/hashing.hpp"

namespace chacha {
namespace {

using NamedHashes = std::vector<std::pair<std::uint32_t, std::string>>;

// A block of columns and the Python arrays that hold its values.
struct PyBlock : Names {
  ColumnBlock block;
  std::vector<nb::object> arrays;
  std::vector<std::string> groups;  // of the parts
  nb::object cell_features;         // (part, row) -> hashes and names of the features of cells

  // A feature without a name is called by a number, as elsewhere.
  std::string name(const Groups& all, std::uint32_t group, std::uint32_t hash) const override {
    const nb::gil_scoped_acquire gil;
    try {
      for (std::size_t part = 0; part < block.parts.size(); ++part) {
        if (block.parts[part].group != group) continue;
        for (const auto& [feature, name] : nb::cast<NamedHashes>(cell_features(part, block.row))) {
          if (feature == hash) return name;
        }
      }
    } catch (const std::exception&) {
      PyErr_Clear();
    }
    return std::to_string(hash - all.seed(group));
  }
};

void set_numbers(Column& column, const Floats& numbers) { column.numbers = numbers.data(); }
void set_numbers(Column& column, const Doubles& numbers) { column.doubles = numbers.data(); }
void set_numbers(Column& column, const Integers& numbers) { column.integers = numbers.data(); }
void set_numbers(Column& column, const Longs& numbers) { column.longs = numbers.data(); }

void set_missing(Column& column, const Words& hashes, const Floats& values) {
  if (hashes.shape(0) != values.shape(0)) throw std::invalid_argument("as many values as hashes");
  column.missing_hashes.assign(hashes.data(), hashes.data() + hashes.shape(0));
  column.missing_values.assign(values.data(), values.data() + values.shape(0));
}

template <class Array>
void add_numbers(PyBlock& block, std::size_t part, const std::string& name, Array numbers,
                 const Words& missing_hashes, const Floats& missing_values) {
  if (numbers.shape(0) != block.block.rows) {
    throw std::invalid_argument("a column of another length");
  }
  Column column;
  column.name = name;
  column.hash = hash_name(name, group_seed(block.groups.at(part)));
  set_numbers(column, numbers);
  set_missing(column, missing_hashes, missing_values);
  block.arrays.push_back(nb::cast(numbers));
  block.block.parts.at(part).columns.push_back(std::move(column));
}

void add_cells(PyBlock& block, std::size_t part, Integers cell_of, const Words& starts,
               const Words& hashes, const Floats& values, const Words& missing_hashes,
               const Floats& missing_values, const std::optional<Doubles>& numbers,
               const std::string& name) {
  if (cell_of.shape(0) != block.block.rows) {
    throw std::invalid_argument("a column of another length");
  }
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
    if (start < before || start > column.hashes.size()) {
      throw std::invalid_argument("cells out of order");
    }
    before = start;
  }
  if (column.values.size() != column.hashes.size()) {
    throw std::invalid_argument("as many values as hashes");
  }
  set_missing(column, missing_hashes, missing_values);
  if (numbers) {
    if (numbers->shape(0) != column.values.size()) throw std::invalid_argument("too few numbers");
    column.numeric_cells = true;
    column.cell_numbers.assign(numbers->data(), numbers->data() + numbers->shape(0));
    column.name = name;
    column.hash = hash_name(name, group_seed(block.groups.at(part)));
  }
  block.arrays.push_back(nb::cast(cell_of));
  block.block.parts.at(part).columns.push_back(std::move(column));
}

// The words of texts as cells: the first feature of each, hashes, values; and the numbers of texts
// that are not ASCII, which get no features. A text is the bytes between two offsets.
auto count_words(const Bytes& data, const Integers& offsets, const std::string& prefix,
                 std::uint32_t seed) {
  if (offsets.shape(0) == 0) throw std::invalid_argument("no offsets");
  const std::size_t texts = offsets.shape(0) - 1;
  for (std::size_t i = 0; i <= texts; ++i) {
    const std::int32_t before = i > 0 ? offsets.data()[i - 1] : 0;
    const std::int32_t offset = offsets.data()[i];
    if (offset < before || static_cast<std::size_t>(offset) > data.shape(0)) {
      throw std::invalid_argument("texts out of order");
    }
  }
  std::vector<std::uint32_t> starts, hashes, not_ascii;
  std::vector<float> values;
  {
    const nb::gil_scoped_release release;
    WordCounter counter(prefix, seed);
    starts.reserve(texts + 1);
    starts.push_back(0);
    for (std::size_t i = 0; i < texts; ++i) {
      const auto begin = static_cast<std::size_t>(offsets.data()[i]);
      const auto end = static_cast<std::size_t>(offsets.data()[i + 1]);
      const std::string_view text(reinterpret_cast<const char*>(data.data()) + begin, end - begin);
      if (!counter.count(text, hashes, values)) not_ascii.push_back(static_cast<std::uint32_t>(i));
      if (hashes.size() > 0xffffffffU) throw std::length_error("too many words");
      starts.push_back(static_cast<std::uint32_t>(hashes.size()));
    }
  }
  return std::tuple(to_numpy(std::move(starts)), to_numpy(std::move(hashes)),
                    to_numpy(std::move(values)), to_numpy(std::move(not_ascii)));
}

void bind_columns(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<PyBlock> block(module, "ColumnBlock", "Rows of a table as columns, for the engine.");
  block.def(
      "__init__",
      [](PyBlock* self, const std::vector<std::string>& groups, Doubles labels,
         std::optional<Floats> weights) {
        if (weights && weights->shape(0) != labels.shape(0)) {
          throw std::invalid_argument("as many weights as labels");
        }
        new (self) PyBlock();
        self->groups = groups;
        self->block.parts.resize(groups.size());
        self->block.rows = labels.shape(0);
        self->block.labels = labels.data();
        self->arrays.push_back(nb::cast(labels));
        self->cell_features = nb::none();
        if (weights) {
          self->block.weights = weights->data();
          self->arrays.push_back(nb::cast(*weights));
        }
      },
      "groups"_a, "labels"_a, "weights"_a.none());

  const auto bind_numbers = [&](auto add) {
    block.def("add_numbers", add, "part"_a, "name"_a, "numbers"_a, "missing_hashes"_a,
              "missing_values"_a);
  };
  bind_numbers(&add_numbers<Floats>);
  bind_numbers(&add_numbers<Doubles>);
  bind_numbers(&add_numbers<Integers>);
  bind_numbers(&add_numbers<Longs>);

  block
      .def("add_cells", &add_cells, "part"_a, "cell_of"_a, "starts"_a, "hashes"_a, "values"_a,
           "missing_hashes"_a, "missing_values"_a, "numbers"_a = nb::none(), "name"_a = "")
      .def(
          "name_cells",
          [](PyBlock& self,
             nb::typed<nb::callable, NamedHashes(std::size_t, std::size_t)> features) {
            self.cell_features = std::move(features);
            self.block.cell_names = &self;
          },
          "features"_a, "Set the function of part and row that names the features of cells.")
      .def_prop_ro("rows", [](const PyBlock& self) { return self.block.rows; });

  module.def("count_words", &count_words, "data"_a, "offsets"_a, "prefix"_a, "seed"_a,
             "Return starts, hashes and values of words, and texts not in ASCII.");
}

}  // namespace
}  // namespace chacha
