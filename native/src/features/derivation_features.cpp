// Derived groups: the features of an example, and the statistics it adds to.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bytes.hpp"
#include "features/derivation.hpp"

namespace chacha {
namespace {

constexpr double kTurn = 6.283185307179586;
constexpr float kTiny = 1e-7F;         // the computed sine of π is not quite 0
constexpr std::size_t kFewKnots = 64;  // a linear search is faster

// The number of knots that are not above x; without a branch, which would be hard to predict.
std::size_t count_up_to(const std::vector<float>& knots, float x) {
  const float* at = knots.data();
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

}  // namespace

void Derivation::reserve_more(Example& example) {
  std::size_t most = past_;
  for (std::size_t r = 0; r < example.raw_runs(); ++r) {
    const Run run = example.runs[r];
    most += (run.end - run.begin) * made_of_[run.group];
  }
  for (std::size_t i = 0; i < given_count_; ++i) most += given_[i].hashes.size();
  example.reserve(most);
  example.runs.reserve(example.runs.size() + recipes_.size());
}

Run Derivation::derive_group(Example& example, std::uint32_t group) noexcept {
  if (!on() || !is_derived(group)) return {group, 0, 0};
  const std::size_t before = example.runs.size();
  make(recipes_[static_cast<std::size_t>(by_group_[group])], example);
  return example.runs.size() > before ? example.runs.back() : Run{group, 0, 0};
}

// Calls add(basis, value, column) for the features of a source with a basis, after making room for
// the features made of them.
template <class Add>
void Derivation::each_feature(const Recipe& recipe, Example& example, Add add) const {
  if (recipe.source >= runs_.size() || runs_[recipe.source].example != example_) return;
  const RunRange range = runs_[recipe.source];
  for (std::uint32_t r = range.first; r <= range.last; ++r) {
    const Run run = example.runs[r];
    if (run.group != recipe.source) continue;
    example.reserve((run.end - run.begin) * features_of_one(recipe.kind));
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint32_t column = column_at_[i];
      if (column >= recipe.bases.size()) continue;  // no column, or a new one
      const Basis& basis = recipe.bases[column];
      if (!basis.ready) continue;
      if (!is_absent(example.values[i])) {
        add(basis, example.values[i], column);
        continue;
      }
      for (std::size_t k = 0; k < features_of_one(recipe.kind); ++k) {
        example.add_unless_zero(basis.hashes[k], kAbsent);
      }
    }
  }
}

void Derivation::make(Recipe& recipe, Example& example) {
  const auto begin = static_cast<std::uint32_t>(example.hashes.size());
  std::size_t i = 0;
  while (i < given_count_ && given_[i].group != recipe.group) ++i;
  if (i < given_count_) {
    const Given& given = given_[i];
    example.hashes.append(given.hashes.data(), given.hashes.data() + given.hashes.size());
    example.values.append(given.values.data(), given.values.data() + given.values.size());
  } else {
    make_features(recipe, example);
  }
  const auto end = static_cast<std::uint32_t>(example.hashes.size());
  if (end > begin) example.runs.push_back({recipe.group, begin, end});
}

void Derivation::make_features(Recipe& recipe, Example& example) {
  switch (recipe.kind) {
    case Kind::kBins:
      // A value between two knots is divided between them; one beyond the last counts as the last.
      // There are always two features, of which one may be absent: then more examples have the
      // same shape.
      return each_feature(recipe, example, [&](const Basis& basis, float x, std::uint32_t) {
        const std::size_t count = basis.at.size();
        const std::size_t below = count_up_to(basis.at, x);
        std::size_t left = below == 0 ? 0 : below - 1;
        float share = 0.0F;
        if (below == count) {
          left = count - 2;
          share = 1.0F;
        } else if (below > 0) {
          const auto from = static_cast<double>(basis.at[left]);
          const auto to = static_cast<double>(basis.at[below]);
          share = static_cast<float>((static_cast<double>(x) - from) / (to - from));
        }
        example.add_unless_zero(basis.hashes[left], share < 1.0F ? 1.0F - share : kAbsent);
        example.add_unless_zero(basis.hashes[left + 1], share > 0.0F ? share : kAbsent);
      });
    case Kind::kOneHot:
      return each_feature(recipe, example, [&](const Basis& basis, float x, std::uint32_t column) {
        example.add_unless_zero(code_of(recipe, basis, x, column), 1.0F);
      });
    case Kind::kCyclic:
      return each_feature(recipe, example, [&](const Basis& basis, float x, std::uint32_t) {
        const Turn& turn = turn_of(recipe, x);
        example.add_unless_zero(basis.hashes[0], turn.sine);
        example.add_unless_zero(basis.hashes[1], turn.cosine);
      });
    case Kind::kLog:
      return each_feature(recipe, example, [&](const Basis& basis, float x, std::uint32_t) {
        const auto X = static_cast<double>(x);
        const double log = std::copysign(std::log1p(std::fabs(X)), X);
        example.add_unless_zero(basis.hashes[0], static_cast<float>(log));
      });
    case Kind::kLag:
    case Kind::kEwma:
      return add_past(recipe, example);
    case Kind::kGiven:
      return;
  }
}

// The one-hot feature of a value. A new value has its own name, unless there are too many values.
std::uint32_t Derivation::code_of(const Recipe& recipe, const Basis& basis, float x,
                                  std::uint32_t column) {
  const std::uint32_t position = find_value(basis.at, x);
  if (position > 0) return basis.hashes[position - 1];
  if (basis.at.size() == kMostValues) return basis.hashes[kMostValues];
  const Source& source = sources_[static_cast<std::size_t>(source_at_[recipe.source])];
  scratch_.assign(source.columns[column].name).append("=").append(short_text(x));
  return hash_name(scratch_, groups_.seed(recipe.group));
}

// Cyclic columns have few values, so most points are in the cache.
const Derivation::Turn& Derivation::turn_of(Recipe& recipe, float x) noexcept {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  Turn& turn = recipe.turns[std::size_t{bits * 0x9e3779b1U} * recipe.turns.size() >> 32];
  if (turn.x == x) return turn;
  const double angle = kTurn * static_cast<double>(x) / recipe.parameter;
  const auto sine = static_cast<float>(std::sin(angle));
  const auto cosine = static_cast<float>(std::cos(angle));
  turn = {x, std::fabs(sine) < kTiny ? 0.0F : sine, std::fabs(cosine) < kTiny ? 0.0F : cosine};
  return turn;
}

// Adds the values of learned examples, the last one first.
void Derivation::add_past(const Recipe& recipe, Example& example) {
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

void Derivation::observe(const Example& example) noexcept {
  if (!on()) return;
  version_ += unlearned_.size();
  unlearned_.clear();
  new_sources_ = 0;
  for (std::size_t i = 0; i < given_count_; ++i) note_given(given_[i]);
  for (Recipe& recipe : recipes_) {
    if (keeps_past(recipe.kind)) remember(recipe, example);
  }
  for (std::size_t r = 0; r < example.raw_runs(); ++r) {
    const Run run = example.runs[r];
    if (source_at_[run.group] < 0) continue;
    const auto number = static_cast<std::uint32_t>(source_at_[run.group]);
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      if (column_at_[i] == kNoColumn || is_absent(example.values[i])) continue;
      TrackedColumn& column = sources_[number].columns[column_at_[i]];
      const bool ready = column.stats.ready();
      const bool changed = column.stats.observe(example.values[i]);
      if (column.stats.room() < room_ && !column.tight) {
        tight_.push_back({number, column_at_[i]});  // there is room
        column.tight = true;
      }
      if (!changed) continue;
      stale_ = true;
      version_ += ready ? 0 : 1;
      if (!column.changed) changed_.push_back({number, column_at_[i]});
      column.changed = true;
    }
  }
}

// Stores the values of an example in the past. A column that it does not have counts as 0.
void Derivation::remember(Recipe& recipe, const Example& example) noexcept {
  if (recipe.source == kLabel) {
    now_[0] = example.label;
  } else {
    std::fill_n(now_.begin(), recipe.bases.size(), 0.0F);
    for (std::size_t r = 0; r < example.raw_runs(); ++r) {
      const Run run = example.runs[r];
      for (std::uint32_t i = run.begin; run.group == recipe.source && i < run.end; ++i) {
        const bool there = !is_absent(example.values[i]);
        if (column_at_[i] < recipe.bases.size() && there) now_[column_at_[i]] = example.values[i];
      }
    }
  }
  for (std::size_t column = 0; column < recipe.bases.size(); ++column) {
    std::vector<float>& ring = recipe.bases[column].past;
    if (ring.empty()) continue;  // the column is new since the example was derived
    float& past = ring[ring.size() == 1 ? 0 : static_cast<std::size_t>(recipe.clock % ring.size())];
    const auto before = static_cast<double>(past);
    const double after = before + recipe.parameter * (static_cast<double>(now_[column]) - before);
    const bool replaces = recipe.kind == Kind::kLag || recipe.clock == 0;
    past = replaces ? now_[column] : static_cast<float>(after);
  }
  ++recipe.clock;
}

std::vector<std::pair<std::string, float>> Derivation::named_features(Example& example,
                                                                      std::uint32_t group) {
  std::vector<std::pair<std::string, float>> features;
  if (!on() || !is_derived(group)) return features;
  const Recipe& recipe = recipes_[static_cast<std::size_t>(by_group_[group])];
  reserve_more(example);
  const Run run = derive_group(example, group);
  std::vector<std::pair<std::uint32_t, std::string>> name_of;
  for (std::size_t i = 0; i < recipe.bases.size(); ++i) {
    if (!recipe.bases[i].ready) continue;
    const bool label = recipe.source == kLabel;
    const auto at = label ? 0 : static_cast<std::size_t>(source_at_[recipe.source]);
    const std::string name = label ? "label" : sources_[at].columns[i].name;
    const std::vector<std::string> names = names_of(recipe, name, recipe.bases[i]);
    for (std::size_t k = 0; k < names.size(); ++k) {
      name_of.emplace_back(recipe.bases[i].hashes[k], names[k]);
    }
  }
  for (std::uint32_t i = run.begin; i < run.end; ++i) {
    if (is_absent(example.values[i])) continue;
    const auto same = [&](const auto& one) { return one.first == example.hashes[i]; };
    const auto at = std::find_if(name_of.begin(), name_of.end(), same);
    // A feature without a name (a new value, a given group) is called by a number.
    const std::uint32_t number = example.hashes[i] - groups_.seed(group);
    features.emplace_back(at != name_of.end() ? at->second : std::to_string(number),
                          example.values[i]);
  }
  return features;
}

std::vector<Derivation::BasisView> Derivation::bases(std::uint32_t group) {
  std::vector<BasisView> views;
  if (!is_derived(group)) return views;
  if (stale_) make_bases();
  const Recipe& recipe = recipes_[static_cast<std::size_t>(by_group_[group])];
  for (std::size_t i = 0; i < recipe.bases.size(); ++i) {
    if (!recipe.bases[i].ready) continue;
    const bool label = recipe.source == kLabel;
    const auto at = label ? 0 : static_cast<std::size_t>(source_at_[recipe.source]);
    const TrackedColumn* const column = label ? nullptr : &sources_[at].columns[i];
    views.push_back({label ? "label" : column->name, recipe.bases[i].at, recipe.bases[i].past,
                     label ? 0 : column->hash});
  }
  return views;
}

std::uint64_t Derivation::clock(std::uint32_t group) const {
  return is_derived(group) ? recipes_[static_cast<std::size_t>(by_group_[group])].clock : 0;
}

std::vector<Derivation::ColumnView> Derivation::columns() const {
  std::vector<ColumnView> all;
  for (const Source& source : sources_) {
    for (const TrackedColumn& column : source.columns) {
      all.push_back({source.group, &column.name, &column.stats});
    }
  }
  return all;
}

std::size_t Derivation::bytes() const {
  std::size_t total =
      bytes_of(recipes_, by_group_, needed_, source_at_, made_of_, sources_, changed_, tight_,
               scratch_, runs_, keys_, column_at_, now_, unlearned_, given_, missing_groups_);
  for (const Given& given : given_) total += bytes_of(given.hashes, given.values);
  for (const Source& source : sources_) {
    total += bytes_of(source.columns, source.table);
    for (const TrackedColumn& column : source.columns) {
      total += bytes_of(column.name) + column.stats.bytes();
    }
  }
  for (const Recipe& recipe : recipes_) {
    total += bytes_of(recipe.bases, recipe.turns);
    for (const Basis& basis : recipe.bases) {
      total += bytes_of(basis.at, basis.hashes, basis.past);
    }
  }
  return total;
}

}  // namespace chacha
