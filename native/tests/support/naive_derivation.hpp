// A naive implementation of derived groups to compare with, and lines to derive features from.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "data/text_parser.hpp"
#include "features/derivation.hpp"
#include "support/streams.hpp"

namespace chacha {

using Features = std::vector<std::pair<std::string, float>>;

struct DerivedGroup {
  std::string name;
  std::string kind;
  std::string source;  // empty: the label
  double parameter;
};

// Groups of every kind; `bins(a,3)` begins with the letter of the raw groups b and bee.
inline const std::vector<DerivedGroup>& derived_groups() {
  static const std::vector<DerivedGroup> all = {
      {"bins(a,3)", "bins", "a", 3},
      {"bins(a,16)", "bins", "a", 16},
      {"bins(hour,40)", "bins", "hour", 40},
      {"log(a)", "log", "a", 0},
      {"onehot(b)", "onehot", "b", 0},
      {"onehot(bee)", "onehot", "bee", 0},
      {"cyclic(hour,24)", "cyclic", "hour", 24},
      {"lag(a,2)", "lag", "a", 2},
      {"lag(label,3)", "lag", "", 3},
      {"ewma(b,0.25)", "ewma", "b", 0.25},
      {"ewma(label,0.5)", "ewma", "", 0.5},
      {"missing(a)", "missing", "missing(a)", 0},
      {"own(f)", "own", "own(f)", 0},
  };
  return all;
}

inline std::vector<std::string> derived_group_names() {
  std::vector<std::string> names;
  for (const DerivedGroup& one : derived_groups()) names.push_back(one.name);
  return names;
}

inline void add_derived_groups(Engine& engine) {
  for (const DerivedGroup& group : derived_groups()) {
    engine.add_derived(group.name, group.kind, group.source, group.parameter);
  }
}

// A line with numbers, codes and hours; groups are repeated, apart, empty, or given.
inline std::string numeric_line(Rng& rng, bool labelled = true) {
  std::string body;
  double y = 0.0;
  const auto number = [&](double value) {
    y += 0.1 * value;
    return print("%.8g", value);
  };
  const auto real = [&] { return (static_cast<double>(rng.below(4001)) - 2000.0) / 64.0; };
  if (!rng.chance(8)) {
    body += " |a x:" + number(real()) + (rng.chance(3) ? "" : " y:" + number(real() * 0.25));
    if (rng.chance(6)) body += " x:" + number(real());  // twice
    if (rng.chance(10)) body += " z" + print("%u:", rng.below(3)) + number(real());
  }
  if (!rng.chance(6))
    body += " |b k:" + number(rng.below(7)) + (rng.chance(4) ? print(" m:%u", rng.below(90)) : "");
  if (rng.chance(2)) body += " |hour h:" + number(rng.below(24));
  if (rng.chance(3)) body += " |bee w:" + number(rng.below(3) + 1);
  if (rng.chance(5)) body += " |alpha x:" + number(real());  // the letter of a
  if (rng.chance(5)) body += " |a y:" + number(real());      // apart
  if (rng.chance(9)) body += " |c";
  if (rng.chance(7)) body += rng.chance(2) ? " |missing(a) x y" : " |missing(b) k";
  if (rng.chance(9)) body += " |own(f) p:" + number(real()) + " q |own(f) q:2";
  if (rng.chance(25)) body += " |bins(a,3) x@given:0.5";
  if (body.empty()) body = " |c one";
  if (!labelled) return body.substr(1);
  const char* const weights[] = {"", "", "", " 2", " 0.5"};
  return (rng.chance(9) ? "0" : print("%.4g", y + rng.real())) + weights[rng.below(5)] + body;
}

// A raw feature of an example.
struct Raw {
  std::string group;
  std::uint32_t hash;
  float value;
};

inline std::vector<Raw> raw_of(const Example& example, const Groups& groups) {
  std::vector<Raw> features;
  for (std::size_t r = 0; r < example.raw_runs(); ++r) {
    const Run run = example.runs[r];
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      features.push_back({groups[run.group].name, example.hashes[i], example.values[i]});
    }
  }
  return features;
}

class NaiveDerivation {
 public:
  explicit NaiveDerivation(std::size_t first) : first_(first) {}

  // The features of the group.
  Features make(const DerivedGroup& group, const std::vector<Raw>& example) const {
    Features features;
    const auto add = [&](const std::string& name, double value) {
      if (static_cast<float>(value) == 0.0F) return;
      features.emplace_back(name, static_cast<float>(value));
    };
    const auto& columns = columns_of(group.source);
    if (group.kind == "lag" || group.kind == "ewma") {
      if (group.source.empty()) past(group, "label", labels_, 0, add);
      for (const Column& column : columns) past(group, column.name, column.past, column.since, add);
      return features;
    }
    for (const Raw& raw : example) {
      if (raw.group != group.source) continue;
      for (const Column& column : columns) {
        if (column.hash == raw.hash) one(group, column, static_cast<double>(raw.value), add);
      }
    }
    return features;
  }

  // `name_of(raw)` is the name of a feature.
  template <class NameOf>
  void observe(const std::vector<Raw>& example, float label, NameOf name_of) {
    for (const Raw& raw : example) {
      auto& columns = groups_[raw.group];
      const auto same = [&](const Column& column) { return column.hash == raw.hash; };
      if (columns.size() >= kMostColumns || std::any_of(columns.begin(), columns.end(), same))
        continue;
      columns.push_back({raw.hash, name_of(raw), {}, {}, clock_});
      columns.back().stats.reserve(first_);
    }
    for (auto& [group, columns] : groups_) {
      for (Column& column : columns) {
        float now = 0.0F;
        for (const Raw& raw : example) {
          if (raw.group != group || raw.hash != column.hash) continue;
          now = raw.value;
          column.stats.observe(static_cast<double>(raw.value));
        }
        column.past.push_back(now);
      }
    }
    labels_.push_back(label);
    ++clock_;
  }

 private:
  struct Column {
    std::uint32_t hash;
    std::string name;
    ColumnStats stats;
    std::vector<float> past;
    std::size_t since;  // the number of its first example
  };

  const std::vector<Column>& columns_of(const std::string& group) const {
    static const std::vector<Column> none;
    const auto at = groups_.find(group);
    return at == groups_.end() ? none : at->second;
  }

  template <class Add>
  void past(const DerivedGroup& group, const std::string& name, const std::vector<float>& values,
            std::size_t since, Add add) const {
    if (group.kind == "lag") {
      for (std::size_t k = 1; k <= static_cast<std::size_t>(group.parameter) && k <= values.size();
           ++k) {
        add(name + "." + std::to_string(k), static_cast<double>(values[values.size() - k]));
      }
      return;
    }
    float mean = 0.0F;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto before = static_cast<double>(mean);
      const double after = before + group.parameter * (static_cast<double>(values[i]) - before);
      mean = since + i == 0 ? values[i] : static_cast<float>(after);
    }
    add(name, static_cast<double>(mean));
  }

  template <class Add>
  static void one(const DerivedGroup& group, const Column& column, double x, Add add) {
    const ColumnStats& stats = column.stats;
    if (group.kind == "bins" && stats.numeric()) {
      const std::vector<double> knots = stats.knots(static_cast<std::size_t>(group.parameter));
      const auto name = [&](std::size_t k) { return column.name + "@" + short_text(knots[k]); };
      std::size_t k = 0;
      while (k < knots.size() && knots[k] < x) ++k;
      if (k == 0 || k == knots.size()) return add(name(k == 0 ? 0 : k - 1), 1.0);
      if (knots[k] == x) return add(name(k), 1.0);
      const double left = knots[k - 1];
      const auto share = static_cast<float>((x - left) / (knots[k] - left));
      add(name(k - 1), static_cast<double>(1.0F - share));
      add(name(k), static_cast<double>(share));
    } else if (group.kind == "log" && stats.numeric()) {
      add(column.name, x < 0 ? -std::log1p(-x) : std::log1p(x));
    } else if (group.kind == "onehot" && stats.codes()) {
      const bool named = find_value(stats.values(), x) > 0 || stats.values().size() < kMostValues;
      add(column.name + "=" + (named ? short_text(x) : "other"), 1.0);
    } else if (group.kind == "cyclic" && stats.codes() &&
               stats.largest() - stats.least() <= group.parameter) {
      const double middle = 0.5 * stats.least() + 0.5 * stats.largest();
      const double angle = 6.283185307179586 * (x - middle) / group.parameter;
      const auto rounded = [](double value) {
        return std::fabs(static_cast<float>(value)) < 1e-7F ? 0.0 : value;
      };
      add(column.name + ".sin", rounded(std::sin(angle)));
      add(column.name + ".cos", rounded(std::cos(angle)));
    }
  }

  std::size_t first_;
  std::size_t clock_ = 0;
  std::map<std::string, std::vector<Column>> groups_;
  std::vector<float> labels_;
};

}  // namespace chacha
