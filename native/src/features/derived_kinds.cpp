#include "features/derived_kinds.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace chacha {
namespace {

using NameList = std::vector<std::string>;

constexpr double kTurn = 6.283185307179586;
constexpr float kTiny = 1e-7F;         // the computed sine of π is not quite 0
constexpr std::size_t kTurns = 256;    // in the cache of a cyclic group
constexpr std::size_t kFewKnots = 64;  // a linear search is faster

// The number of knots that are not above x; without a branch, which would be hard to predict.
std::size_t count_up_to(const std::vector<double>& knots, double x) {
  const double* at = knots.data();
  std::size_t left = knots.size();
  if (left <= kFewKnots) {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < left; ++i) count += at[i] <= x ? 1U : 0U;
    return count;
  }
  while (left > 1) {
    const std::size_t half = left / 2;
    at += half * static_cast<std::size_t>(at[half - 1] <= x);
    left -= half;
  }
  return static_cast<std::size_t>(at - knots.data()) + (*at <= x ? 1U : 0U);
}

// A kind whose features are computed from the values of the example.
struct ValueKind {
  static constexpr Limits kLimits = {};
  static constexpr std::size_t kFeatures = 1;  // of one raw feature
  static void prepare(Recipe& /*recipe*/) {}
  static NameList names(const std::string& column, const Basis& /*basis*/) { return {column}; }
};

struct Bins : ValueKind {
  static constexpr std::string_view kName = "bins";
  static constexpr Limits kLimits = {2.0, 1024.0, true};
  static constexpr std::size_t kFeatures = 2;

  static void fit(double parameter, const ColumnStats& stats, Basis& basis) {
    basis.ready = stats.numeric();
    if (basis.ready) basis.at = stats.knots(static_cast<std::size_t>(parameter));
  }
  static NameList names(const std::string& column, const Basis& basis) {
    NameList names;
    for (const double knot : basis.at) names.push_back(column + "@" + short_text(knot));
    return names;
  }
  // A value between two knots is divided between them; one beyond the last counts as the last.
  // There are always two features, of which one may be absent: then more examples have the same
  // shape.
  static void add(Recipe& /*recipe*/, const SourceFeatures& /*source*/, const Basis& basis,
                  double x, std::uint32_t /*column*/, Example& example) {
    const std::size_t count = basis.at.size();
    const std::size_t below = count_up_to(basis.at, x);
    std::size_t left = below == 0 ? 0 : below - 1;
    float share = 0.0F;
    if (below == count) {
      left = count - 2;
      share = 1.0F;
    } else if (below > 0) {
      const double from = basis.at[left];
      share = static_cast<float>((x - from) / (basis.at[below] - from));
    }
    example.add_unless_zero(basis.hashes[left], share < 1.0F ? 1.0F - share : kAbsent);
    example.add_unless_zero(basis.hashes[left + 1], share > 0.0F ? share : kAbsent);
  }
};

struct OneHot : ValueKind {
  static constexpr std::string_view kName = "onehot";

  static void fit(double /*parameter*/, const ColumnStats& stats, Basis& basis) {
    basis.ready = stats.codes();
    if (basis.ready) basis.at = stats.values();
  }
  static NameList names(const std::string& column, const Basis& basis) {
    NameList names;
    for (const double value : basis.at) names.push_back(column + "=" + short_text(value));
    names.push_back(column + "=other");
    return names;
  }
  static void add(Recipe& recipe, const SourceFeatures& source, const Basis& basis, double x,
                  std::uint32_t column, Example& example) {
    example.add_unless_zero(hash_of(recipe, source, basis, x, column), 1.0F);
  }
  // A new value has its own name, unless there are too many values.
  static std::uint32_t hash_of(const Recipe& recipe, const SourceFeatures& source,
                               const Basis& basis, double x, std::uint32_t column) {
    const std::uint32_t position = find_value(basis.at, x);
    if (position > 0) return basis.hashes[position - 1];
    if (basis.at.size() == kMostValues) return basis.hashes[kMostValues];
    source.scratch->assign(source.columns[column].name).append("=");
    append_short_text(*source.scratch, x);
    return hash_name(*source.scratch, recipe.seed);
  }
};

struct Cyclic : ValueKind {
  static constexpr std::string_view kName = "cyclic";
  static constexpr Limits kLimits = {0.0, 1e300, false};
  static constexpr std::size_t kFeatures = 2;

  static void prepare(Recipe& recipe) {
    recipe.turns.resize(kTurns, {std::numeric_limits<double>::quiet_NaN(), 0.0F, 0.0F});
  }
  static void fit(double parameter, const ColumnStats& stats, Basis& basis) {
    basis.ready = stats.codes() && stats.largest() - stats.least() <= parameter;
    // The circle begins in the middle of the first values, wherever their zero is.
    if (basis.ready) basis.at = {0.5 * stats.least() + 0.5 * stats.largest()};
  }
  static NameList names(const std::string& column, const Basis& /*basis*/) {
    return {column + ".sin", column + ".cos"};
  }
  static void add(Recipe& recipe, const SourceFeatures& /*source*/, const Basis& basis, double x,
                  std::uint32_t /*column*/, Example& example) {
    const Turn& turn = turn_of(recipe, x - basis.at[0]);
    example.add_unless_zero(basis.hashes[0], turn.sine);
    example.add_unless_zero(basis.hashes[1], turn.cosine);
  }
  // Cyclic columns have few values, so most points are in the cache.
  static const Turn& turn_of(Recipe& recipe, double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    Turn& turn = recipe.turns[(bits * 0x9e3779b97f4a7c15ULL >> 32) * recipe.turns.size() >> 32];
    if (turn.x == x) return turn;
    const double angle = kTurn * x / recipe.parameter;
    const auto sine = static_cast<float>(std::sin(angle));
    const auto cosine = static_cast<float>(std::cos(angle));
    turn = {x, std::fabs(sine) < kTiny ? 0.0F : sine, std::fabs(cosine) < kTiny ? 0.0F : cosine};
    return turn;
  }
};

struct Log : ValueKind {
  static constexpr std::string_view kName = "log";

  static void fit(double /*parameter*/, const ColumnStats& stats, Basis& basis) {
    basis.ready = stats.numeric();
  }
  static void add(Recipe& /*recipe*/, const SourceFeatures& /*source*/, const Basis& basis,
                  double x, std::uint32_t /*column*/, Example& example) {
    const double log = std::copysign(std::log1p(std::fabs(x)), x);
    example.add_unless_zero(basis.hashes[0], static_cast<float>(log));
  }
};

struct Lag {
  static constexpr std::string_view kName = "lag";
  static constexpr Limits kLimits = {1.0, 1000.0, true};

  static std::size_t length(double parameter) { return static_cast<std::size_t>(parameter); }
  static NameList names(const std::string& column, const Basis& basis) {
    NameList names;
    for (std::size_t k = 1; k <= basis.past.size(); ++k) {
      names.push_back(column + "." + std::to_string(k));
    }
    return names;
  }
  static void store(const Recipe& recipe, std::vector<float>& ring, float value) {
    const std::size_t n = ring.size();
    ring[n == 1 ? 0 : static_cast<std::size_t>(recipe.clock % n)] = value;
  }
};

struct Ewma {
  static constexpr std::string_view kName = "ewma";
  static constexpr Limits kLimits = {0.0, 1.0, false};

  static std::size_t length(double /*parameter*/) { return 1; }
  static NameList names(const std::string& column, const Basis& /*basis*/) { return {column}; }
  static void store(const Recipe& recipe, std::vector<float>& mean, float value) {
    const auto before = static_cast<double>(mean[0]);
    const double after = before + recipe.parameter * (static_cast<double>(value) - before);
    mean[0] = recipe.clock == 0 ? value : static_cast<float>(after);
  }
};

template <class K>
void fit_to_values(double parameter, const ColumnStats* stats, Basis& basis) {
  K::fit(parameter, *stats, basis);
}

// Adds the features of every raw feature that has a basis.
template <class K>
void add_of_values(Recipe& recipe, const SourceFeatures& source, Example& example) {
  for (std::uint32_t r = source.first; r <= source.last; ++r) {
    const Run run = example.runs[r];
    if (run.group != recipe.source) continue;
    example.reserve((run.end - run.begin) * K::kFeatures);
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint32_t column = source.column_at[i];
      if (column >= recipe.bases.size()) continue;  // no column, or a new one
      const Basis& basis = recipe.bases[column];
      if (!basis.ready) continue;
      if (!is_absent(example.values[i])) {
        K::add(recipe, source, basis, example.as_read(i), column, example);
        continue;
      }
      for (std::size_t k = 0; k < K::kFeatures; ++k) {
        example.add_unless_zero(basis.hashes[k], kAbsent);
      }
    }
  }
}

template <class K>
void fit_to_past(double parameter, const ColumnStats* /*stats*/, Basis& basis) {
  basis.past.resize(K::length(parameter));
  basis.ready = true;
}

// Adds the values of learned examples, the last one first.
void add_past(Recipe& recipe, const SourceFeatures& /*source*/, Example& example) {
  if (recipe.bases.empty()) return;
  const std::size_t n = recipe.bases.front().past.size();
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(n, recipe.clock));
  const auto next = static_cast<std::size_t>(recipe.clock % n);
  example.reserve(count * recipe.bases.size());
  for (const Basis& basis : recipe.bases) {
    std::size_t at = next;
    for (std::size_t k = 0; k < count; ++k) {
      at = at == 0 ? n - 1 : at - 1;
      example.add_unless_zero(basis.hashes[k], basis.past[at]);
    }
  }
}

template <class K>
void remember_values(Recipe& recipe, const float* values) {
  for (std::size_t column = 0; column < recipe.bases.size(); ++column) {
    std::vector<float>& past = recipe.bases[column].past;
    if (!past.empty()) K::store(recipe, past, values[column]);  // else new since the derivation
  }
}

template <class K>
constexpr DerivedKind of_values() {
  return {K::kName,         K::kLimits, K::kFeatures,     K::prepare,
          fit_to_values<K>, K::names,   add_of_values<K>, nullptr};
}

template <class K>
constexpr DerivedKind of_past() {
  return {K::kName,       K::kLimits, 1,        ValueKind::prepare,
          fit_to_past<K>, K::names,   add_past, remember_values<K>};
}

constexpr DerivedKind given(std::string_view name) {
  return {name, {}, 1, ValueKind::prepare, nullptr, nullptr, nullptr, nullptr};
}

constexpr DerivedKind kMissing = given("missing");

constexpr const DerivedKind kKinds[] = {
    of_values<Bins>(), of_values<OneHot>(), of_values<Cyclic>(), of_values<Log>(),
    kMissing,          of_past<Lag>(),      of_past<Ewma>(),     given("own"),
};

}  // namespace

bool Limits::allow(double parameter) const {
  if (most == 0.0) return parameter == 0.0;
  if (whole && parameter != std::floor(parameter)) return false;
  return parameter >= least && parameter <= most && parameter > 0.0;
}

std::vector<const DerivedKind*> derived_kinds() {
  std::vector<const DerivedKind*> all;
  for (const DerivedKind& kind : kKinds) all.push_back(&kind);
  return all;
}

const DerivedKind& kind_named(std::string_view name) {
  for (const DerivedKind& kind : kKinds) {
    if (kind.name == name) return kind;
  }
  throw std::invalid_argument("unknown kind " + std::string(name));
}

const DerivedKind& missing_kind() { return kind_named(kMissing.name); }

bool is_missing_group(const std::string& name) {
  const std::size_t n = kMissing.name.size();
  return name.size() > n + 1 && name.compare(0, n, kMissing.name) == 0 && name[n] == '(' &&
         name.back() == ')';
}

}  // namespace chacha
