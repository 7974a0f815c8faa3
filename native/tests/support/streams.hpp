// Random streams, and the state of an engine as text, to compare.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.hpp"

namespace chacha {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : source_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(source_() % n); }
  bool chance(std::uint32_t one_in) { return below(one_in) == 0; }
  double real() { return static_cast<double>(source_() >> 11) * 0x1p-53; }
  std::uint64_t bits() { return source_(); }

 private:
  std::mt19937_64 source_;
};

inline std::string print(const char* format, ...) __attribute__((format(printf, 1, 2)));
inline std::string print(const char* format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

// The contenders of an engine. Tests that only compare engines answer a due decision by setting
// the same contenders again.
struct Contenders {
  std::vector<Contender> all;
  std::int64_t challengers = 0;  // |S|

  void set(Engine& engine, std::vector<Contender> contenders, std::int64_t count) {
    all = std::move(contenders);
    challengers = count;
    engine.set_contenders(all, all.front().model, challengers, false);
  }
  void confirm(Engine& engine) const {
    engine.set_contenders(all, engine.incumbent(), challengers, false);
  }
};

// The same for a contest.
inline void confirm_contest(Engine& engine) {
  ContestState state = engine.contest().state();
  state.decide_anyway = false;
  engine.set_contest(std::move(state));
}

// The features of one group, from a small set of names, so that they are repeated.
inline std::string random_features(Rng& rng, std::uint32_t most) {
  std::string text;
  for (std::uint32_t n = rng.below(most) + 1; n > 0; --n) {
    switch (rng.below(4)) {
      case 0:
        text += print(" f%u", rng.below(12));
        break;
      case 1:
        text += print(" %u:%.3f", rng.below(9), rng.real() * 4 - 2);
        break;
      case 2:
        text += print(" x%u:%.8g", rng.below(9), (rng.real() - 0.5) * (rng.chance(9) ? 1e8 : 3.0));
        break;
      default:
        text += print(" color:%s", rng.chance(2) ? "red" : "blue");
    }
  }
  return text;
}

// A line of VW text whose label depends on its features; groups are repeated, apart, or empty.
inline std::string random_line(Rng& rng, bool labelled = true, bool classes = false) {
  static const char* const names[] = {"a", "b", "c", "alpha", "user", "item:0.5", "b"};
  std::string body;
  double y = 0.0;
  for (std::uint32_t n = rng.below(4) + 1; n > 0; --n) {
    const std::uint32_t name = rng.below(7);
    y += name - 2.0 * rng.real();
    body += std::string(" |") + names[name] + (rng.chance(12) ? "" : random_features(rng, 5));
  }
  if (!labelled) return body.substr(1);
  const std::string label = classes ? (y > 2 ? "1" : "-1") : print("%.4g", y);
  const char* const weights[] = {"", "", "", " 2", " 0.5 0.25", " 0"};
  return label + weights[rng.below(6)] + (rng.chance(5) ? " 'tag" : "") + body;
}

// The weights that were ever changed, by index.
inline std::string picture(const Dump& dump) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < dump.index.size(); ++i) {
    if (dump.w[i] == 0 && dump.norm[i] == 0) continue;
    rows.push_back(print("%08x %a %a %a\n", dump.index[i], static_cast<double>(dump.w[i]),
                         static_cast<double>(dump.adaptive[i]), static_cast<double>(dump.norm[i])));
  }
  std::sort(rows.begin(), rows.end());
  std::string all;
  for (const std::string& row : rows) all += row;
  return all;
}

inline std::string picture(const ModelState& s) {
  return print("%a %a %a %a %a %a\n", s.sum_norm_x, s.total_weight, static_cast<double>(s.low),
               static_cast<double>(s.high), s.gravity, s.contraction);
}

inline std::string picture(const ProgressiveLoss& s) {
  return print("%lld %a %a\n", static_cast<long long>(s.n), s.total, s.weight);
}

inline std::string print_number(std::int64_t value) {
  return print("%lld ", static_cast<long long>(value));
}
inline std::string print_number(double value) { return print("%a ", value); }

// All fields of a Pairing, a BlendGain, a Serving or a Surprise.
template <class Value>
std::string picture_of_fields(const Value& value) {
  std::string all;
  Value::each_field([&](const char*, auto field) { all += print_number(value.*field); });
  return all + "\n";
}

inline std::string picture(const Contest& contest) {
  const ContestState& state = contest.state();
  std::string all = print("%u of %zu, %a %lld %d\n", state.champion, contest.live(), state.level,
                          static_cast<long long>(state.charged), state.decide_anyway);
  Surprise surprise = state.surprise;
  surprise.since = 0;  // the totals begin anew before they are used
  surprise.total = surprise.largest = 0.0;
  all += picture_of_fields(state.serving) + picture_of_fields(surprise);
  for (const Challenger& c : state.challengers) {
    all += print("%u %lld\n", c.model, static_cast<long long>(c.lease));
    all += picture_of_fields(c.pairing) + picture_of_fields(c.blend_gain);
  }
  return all;
}

inline std::string picture(const Screen& screen, const Groups& groups) {
  std::string all = print("%lld %lld\n", static_cast<long long>(screen.rounds()),
                          static_cast<long long>(screen.examples()));
  for (const Screen::Score& score : screen.scores()) {
    all += print("%lld %a\n", static_cast<long long>(score.looks), score.gain);
  }
  std::map<std::string, std::int64_t> active;
  for (std::uint32_t group = 0; group < groups.size(); ++group) {
    if (screen.active(group) > 0) active[groups[group].name] = screen.active(group);
  }
  for (const auto& [name, count] : active)
    all += name + print(" %lld\n", static_cast<long long>(count));
  return all;
}

// Statistics of columns, and the past. Groups by name: their numbers depend on earlier predictions.
inline std::string picture(Derivation& derivation, const Groups& groups) {
  std::string all;
  for (const auto& [group, name, stats] : derivation.columns()) {
    all += groups[group].name + " " + *name +
           print(" %d %d %u", stats->ready(), stats->codes(), stats->distinct());
    if (stats->ready()) {
      for (const double knot : stats->knots(16)) all += " " + short_text(knot);
      for (const double value : stats->values()) all += "," + short_text(value);
    }
    all += '\n';
  }
  for (const std::uint32_t group : derivation.missing_groups()) all += groups[group].name + "\n";
  std::map<std::string, std::string> bases;
  for (std::uint32_t group = 0; group < groups.size(); ++group) {
    std::string& made = bases[groups[group].name];
    for (const auto& [column, at, past, hash] : derivation.bases(group)) {
      made += print("%llu ", static_cast<unsigned long long>(derivation.clock(group))) + column;
      made += print(" %u", hash);
      for (const double value : at) made += " " + short_text(value);
      for (const float value : past) made += print(" %a", static_cast<double>(value));
      made += '\n';
    }
  }
  for (const auto& [name, made] : bases) all += made.empty() ? "" : name + "\n" + made;
  return all;
}

inline std::string picture(const LabelMap& map) {
  return print("%d %a %a %d %a %a %d %a %a %a\n", map.scaled, map.shift, map.scale, map.log,
               map.low, map.unit, map.corrected, map.products, map.squares, map.count);
}

// How columns are centred.
inline std::string picture(const Centring& centring, const Groups& groups) {
  std::string all;
  for (const Centring::View& column : centring.columns()) {
    all += groups[column.group].name +
           print(" %u %a %a\n", column.hash, column.centre.centre, column.centre.inverse);
  }
  return all;
}

// The state of an engine, for these models.
inline std::string picture(Engine& engine, const std::vector<std::uint32_t>& models) {
  std::string all;
  for (const std::uint32_t model : models) {
    all += print("model %u\n", model) + picture(engine.dump(model)) + picture(engine.state(model));
    all += picture(engine.standing(model)) + picture(engine.label_map(model));
  }
  all += picture(engine.served()) + picture(engine.baseline_standing());
  all += picture(engine.constant_standing()) + print("%a\n", engine.constant());
  all += print("%a %a t %lld serves %u\n", engine.first_metric(), engine.second_metric(),
               static_cast<long long>(engine.t()), engine.incumbent());
  const ObservedStream& observed = engine.observed();
  all += print("%a %a %llu\n", observed.low(), observed.high(),
               static_cast<unsigned long long>(observed.raw_features()));
  std::map<std::string, std::int64_t>
      sizes;  // by name: their numbers depend on earlier predictions
  for (std::uint32_t group = 0; group < engine.groups().size(); ++group) {
    if (observed.has(group)) sizes[engine.groups()[group].name] = observed.exact_size(group);
  }
  for (const auto& [name, size] : sizes)
    all += name + print(" %lld\n", static_cast<long long>(size));
  all += picture(engine.contest()) + picture(engine.screen(), engine.groups());
  all += picture(engine.derivation(), engine.groups());
  all += picture(engine.centring(), engine.groups());
  const Record& record = engine.record();
  for (std::size_t i = 0; i < record.predictions.size(); ++i) {
    all += print("%a %a %u %u %a\n", record.predictions[i], record.labels[i], record.served_by[i],
                 record.others[i], record.shares[i]);
  }
  for (const std::string& tag : record.tags) all += tag + '\n';
  return all;
}

}  // namespace chacha
