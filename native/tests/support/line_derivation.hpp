// Derived groups of lines of text, without models.
#pragma once

#include <string>
#include <vector>

#include "support/check.hpp"
#include "support/naive_derivation.hpp"

namespace chacha {

struct LineDerivation {
  Groups groups;
  Derivation derivation{groups};
  Example example;
  std::string text;
  TextNames names;
  std::vector<std::uint32_t> empty;

  explicit LineDerivation(std::size_t first = 8) { derivation.turn_on(first); }

  std::uint32_t add(const std::string& name, const std::string& kind, const std::string& source,
                    double parameter = 0.0) {
    const std::uint32_t group = groups.number(name);
    derivation.add(group, kind_named(kind), source.empty() ? kLabel : groups.number(source),
                   parameter);
    return group;
  }
  void need(const std::vector<std::string>& all) {
    std::vector<std::uint32_t> numbers;
    for (const std::string& name : all) numbers.push_back(groups.number(name));
    derivation.need(derivation.find_needed(numbers));
  }
  void read(const std::string& line) {
    text = line;
    names.line = text;
    CHECK(parse_line(text, groups, example));
    derivation.set_apart(example);
    example.order_runs(groups, empty);
  }
  void learn(const std::string& line) {
    read(line);
    derivation.derive(example, true, names);
    derivation.observe(example);
  }
  // The features of a derived group of a line, as text.
  std::string make(const std::string& name, const std::string& line) {
    read(line);
    derivation.derive(example, false, names);
    return show(derivation.named_features(example, groups.number(name)));
  }
  static std::string show(const Features& features) {
    std::string all;
    for (const auto& [name, value] : features)
      all += (all.empty() ? "" : " ") + name + ":" + short_text(value);
    return all;
  }
  // The groups of the current example and their numbers of features.
  std::string runs() const {
    std::string all;
    for (const Run& run : example.runs)
      all += groups[run.group].name + print(":%u ", run.end - run.begin);
    return all;
  }
  std::string seen() {
    std::string all =
        print("version %llu\n", static_cast<unsigned long long>(derivation.version()));
    return all + picture(derivation, groups);
  }
};

// Learns values of the column x of the group a.
inline void teach(LineDerivation& lines, const std::vector<double>& values) {
  for (const double value : values) lines.learn(print("0 |a x:%.9g", value));
}

}  // namespace chacha
