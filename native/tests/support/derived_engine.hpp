// Engines with derived groups, engines with the same groups as raw ones, and tables as text.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "support/naive_derivation.hpp"

namespace chacha {

constexpr std::int64_t kNever = std::int64_t{1} << 62;
using Products = std::vector<std::vector<std::string>>;

struct ModelSpec {
  int bits;
  Products products;
  float rate = 0.5F;
  float power = 0.5F;
  bool constant = true;

  Options options() const {
    Options result;
    result.learning_rate = rate;
    result.power_t = power;
    result.constant = constant;
    return result;
  }
};

// Models of many kinds: derived groups alone, and in products with raw ones, others, themselves.
inline const std::vector<ModelSpec>& model_specs() {
  static const std::vector<ModelSpec> all = {
      {18, {}},
      {18, {{"bins(a,3)"}}},
      {18, {{"bins(a,16)"}, {"bins(a,16)", "b"}, {"a", "b"}}, 0.2F},
      {18,
       {{"bins(a,3)"}, {"onehot(b)"}, {"bins(a,3)", "onehot(b)"}, {"bins(a,3)", "bins(a,3)"}},
       0.5F,
       0.4F},
      {18,
       {{"log(a)"}, {"lag(label,3)"}, {"ewma(b,0.25)"}, {"log(a)", "lag(label,3)", "hour"}},
       0.5F,
       0.5F,
       false},
      {18,
       {{"cyclic(hour,24)"},
        {"cyclic(hour,24)", "alpha"},
        {"missing(a)"},
        {"own(f)"},
        {"own(f)", "own(f)"}}},
      {9,
       {{"bins(hour,40)"},
        {"onehot(bee)"},
        {"lag(a,2)"},
        {"ewma(label,0.5)"},
        {"lag(a,2)", "bins(hour,40)"}}},
      {9, {}},
      {5, {{"bins(a,16)"}, {"log(a)"}, {"bins(a,16)", "log(a)"}, {"b", "bee"}}, 0.3F},
      {31, {{"bins(a,16)"}, {"onehot(b)"}, {"missing(a)"}, {"bins(a,16)", "missing(a)"}}},
  };
  return all;
}

struct Setting {
  Engine engine;
  std::vector<std::uint32_t> models;
  Contenders contenders;

  explicit Setting(const std::vector<ModelSpec>& specs, const char* kernel = "plain",
                   std::size_t first = 12)
      : engine(18, kernel_named(kernel)) {
    if (first > 0) {
      engine.turn_on_derivation(first);
      add_derived_groups(engine);
    }
    for (const ModelSpec& spec : specs) {
      models.push_back(engine.start(spec.bits, spec.options(), spec.products));
    }
    set_contenders();
  }
  // All models contend.
  void set_contenders() {
    std::vector<Contender> all;
    for (const std::uint32_t model : models) all.push_back({model, model != models[0], kNever});
    contenders.set(engine, all, static_cast<std::int64_t>(all.size()) - 1);
  }
  void step() {
    CHECK(engine.take_label());
    if (engine.step() == Status::kDecide) contenders.confirm(engine);
  }
  void learn(const std::string& line) {
    CHECK(engine.parse(line));
    step();
  }
  void predict(const std::string& line) {
    CHECK(engine.parse(line));
    engine.predict();
  }
  std::string seen(std::size_t i) {
    return picture(engine.dump(models[i])) + picture(engine.state(models[i]));
  }
  std::string seen() { return picture(engine, models); }
};

// A model without derived groups, on examples that have the same groups as raw ones.
struct Plain {
  Setting setting;
  std::vector<std::string> derived_names;  // the derived groups of the model

  Plain(const ModelSpec& spec, const char* kernel) : setting({without_groups(spec)}, kernel, 0) {
    for (const auto& product : spec.products) {
      if (product.size() == 1) derived_names.push_back(product[0]);
    }
    std::sort(derived_names.begin(), derived_names.end());
  }
  static ModelSpec without_groups(ModelSpec spec) {
    Products products;
    for (const auto& product : spec.products) {
      if (product.size() > 1) products.push_back(product);
    }
    spec.products = products;
    return spec;
  }
  // Learns the current example of the other engine.
  void learn(const std::string& line, Engine& other) {
    Groups& groups = setting.engine.groups();
    Example read;
    CHECK(parse_line(line, groups, read));
    Example& example = setting.engine.example();
    example.clear();
    example.labelled = true;
    example.label = read.label;
    example.weight = read.weight;
    for (const Run& run : read.runs) {
      if (other.derivation().is_derived(other.groups().number(groups[run.group].name))) continue;
      example.open(run.group, groups.letter(run.group));
      for (std::uint32_t i = run.begin; i < run.end; ++i)
        example.add(read.hashes[i], read.values[i]);
      example.close();
    }
    const auto derived = other.derived_features(derived_names);
    for (std::size_t k = 0; k < derived_names.size(); ++k) {
      if (derived[k].empty()) continue;
      const std::uint32_t group = groups.number(derived_names[k]);
      example.open(group, groups.letter(group));
      for (const auto& [name, value] : derived[k]) {
        example.add(hash_name(name, groups.seed(group)), value);
      }
      example.close();
    }
    setting.engine.order_runs(TextNames());
    setting.step();
  }
};

const char* const kKernels[] = {"plain", "avx2", "avx512"};

// A table of numbers and words, in memory and as text. Numbers are whole, so that they are read
// exactly; words are numbers too, because a block has no names of words.
struct Table {
  struct Cells {
    std::string group, name;
    std::vector<float> numbers;  // NaN: an empty cell
    std::vector<std::int32_t> words;
  };
  std::vector<double> labels;
  std::vector<Cells> columns;
  std::size_t rows;

  // A column: group and name, number of values; one in `zeros` is 0, one in `empty` is empty.
  struct Form {
    const char* group;
    const char* name;
    std::uint32_t values;
    std::uint32_t zeros, empty;
  };
  Table(std::uint64_t seed, std::size_t rows_, const std::vector<Form>& forms, bool words)
      : rows(rows_) {
    Rng rng(seed);
    for (const Form& form : forms) columns.push_back({form.group, form.name, {}, {}});
    if (words) columns.push_back({"look", "", {}, {}});
    for (std::size_t i = 0; i < rows; ++i) {
      float y = static_cast<float>(rng.below(3));
      for (std::size_t k = 0; k < forms.size(); ++k) {
        float value = static_cast<float>(rng.below(forms[k].values) + 1);
        if (forms[k].zeros > 0 && rng.chance(forms[k].zeros)) value = 0.0F;
        if (forms[k].empty > 0 && rng.chance(forms[k].empty)) value = NAN;
        columns[k].numbers.push_back(value);
        y += value > 4.0F ? 1.0F : 0.0F;
      }
      if (words) columns.back().words.push_back(static_cast<std::int32_t>(rng.below(4)) - 1);
      labels.push_back(rng.chance(4) ? 0.0 : static_cast<double>(y));
    }
  }
  ColumnBlock block(Engine& engine) const {
    ColumnBlock block;
    for (const Cells& cells : columns) {
      const std::uint32_t group = engine.groups().number(cells.group);
      if (block.parts.empty() || block.parts.back().group != group)
        block.parts.push_back({group, {}});
      Column column;
      if (cells.words.empty()) {
        column.name = cells.name;
        column.hash = hash_name(cells.name, engine.groups().seed(group));
        column.numbers = cells.numbers.data();
      } else {
        column.cell_of = cells.words.data();
        column.starts = {0, 1, 2, 3};
        for (const std::uint32_t word : {11U, 12U, 13U})
          column.hashes.push_back(word + engine.groups().seed(group));
        column.values.assign(3, 1.0F);
      }
      block.parts.back().columns.push_back(column);
    }
    block.rows = rows;
    block.labels = labels.data();
    return block;
  }
  std::string line(std::size_t row) const {
    static const char* const words[] = {"11", "12", "13"};
    std::string line = print("%g", labels[row]);
    std::string group;
    for (const Cells& cells : columns) {
      if (cells.group != group) line += " |" + cells.group;
      group = cells.group;
      if (!cells.words.empty()) {
        if (cells.words[row] >= 0) line += std::string(" ") + words[cells.words[row]];
      } else if (!std::isnan(cells.numbers[row])) {
        line += " " + cells.name + print(":%g", static_cast<double>(cells.numbers[row]));
      }
    }
    return line;
  }
};

}  // namespace chacha
