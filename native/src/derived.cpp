#include "derived.hpp"

#include <algorithm>
#include <cmath>

namespace chacha {
namespace {

constexpr std::uint32_t kNoColumn = 0xffffffffU;
constexpr std::uint64_t kNoKey = 0xffffffffffffffffULL;
constexpr std::size_t kLongestNumber = 24;  // letters, with what joins it to a name
constexpr double kTurn = 6.283185307179586;
constexpr float kTiny = 1e-7F;  // the sine of π is not quite 0

bool keeps_past(Kind kind) { return kind == Kind::kLag || kind == Kind::kEwma; }

// How many knots are not above x. Of few they are counted, which has no branch to foretell.
std::size_t knots_up_to(const std::vector<float>& knots, float x) {
  if (knots.size() > 32) {
    return static_cast<std::size_t>(std::upper_bound(knots.begin(), knots.end(), x) - knots.begin());
  }
  std::int32_t count = 0;
  for (const float knot : knots) count += knot <= x ? 1 : 0;
  return static_cast<std::size_t>(count);
}

bool is_missing(const std::string& name) { return name.rfind("missing(", 0) == 0 && name.back() == ')'; }

}  // namespace

void Derivation::turn_on(std::size_t first) {
  first_ = first;
  notice_groups();
}

void Derivation::add(std::uint32_t group, Kind kind, std::uint32_t source, double parameter) {
  if (by_group_.size() < groups_.size()) by_group_.resize(groups_.size(), -1);
  if (knows(group)) return;
  Recipe recipe{kind, group, source, parameter, 0, {}};
  if (source == kLabel) recipe.bases.resize(1);
  recipes_.push_back(std::move(recipe));
  by_group_[group] = static_cast<std::int32_t>(recipes_.size() - 1);
  stale_ = true;
}

void Derivation::need(const std::vector<std::uint32_t>& groups) {
  std::vector<std::uint32_t> needed;
  for (const std::uint32_t group : groups) {
    if (knows(group)) needed.push_back(static_cast<std::uint32_t>(by_group_[group]));
  }
  const auto name = [this](std::uint32_t recipe) -> const std::string& { return groups_[recipes_[recipe].group].name; };
  std::sort(needed.begin(), needed.end(), [&](auto a, auto b) { return name(a) < name(b); });
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  needed_ = std::move(needed);
}

// Groups that the stream itself calls missing(...) are used only by models that want them.
void Derivation::notice_groups() {
  for (auto group = static_cast<std::uint32_t>(source_at_.size()); group < groups_.size(); ++group) {
    if (!is_missing(groups_[group].name)) continue;
    add(group, Kind::kGiven, group, 0.0);
  }
  source_at_.resize(groups_.size(), -1);
}

void Derivation::derive(Example& example, bool learning, const Names& names) {
  example.drop_derived();
  if (!on()) return;
  if (source_at_.size() < groups_.size()) notice_groups();
  find_columns(example, learning, names);
  if (stale_) make_bases();
  example.begin_derived();
  for (const std::uint32_t recipe : needed_) make(recipes_[recipe], example);
  if (!learning) return;
  reserve_more(example);
  brought_.reserve(brought_.size() + given_.size());
}

void Derivation::set_apart(Example& example) {
  given_.clear();
  if (!on()) return;
  if (source_at_.size() < groups_.size()) notice_groups();
  const auto derived = [this](const Run& run) { return knows(run.group); };
  if (std::none_of(example.runs.begin(), example.runs.end(), derived)) return;
  Pod<Run> runs;
  Pod<std::uint32_t> hashes;
  Pod<float> values;
  for (const Run& run : example.runs) {
    if (derived(run)) {
      auto at = std::find_if(given_.begin(), given_.end(), [&](const Given& g) { return g.group == run.group; });
      if (at == given_.end()) at = given_.insert(at, Given{run.group, {}, {}});
      at->hashes.insert(at->hashes.end(), example.hashes.begin() + run.begin, example.hashes.begin() + run.end);
      at->values.insert(at->values.end(), example.values.begin() + run.begin, example.values.begin() + run.end);
      continue;
    }
    const auto begin = static_cast<std::uint32_t>(hashes.size());
    hashes.append(example.hashes.begin() + run.begin, example.hashes.begin() + run.end);
    values.append(example.values.begin() + run.begin, example.values.begin() + run.end);
    runs.push_back({run.group, begin, static_cast<std::uint32_t>(hashes.size())});
  }
  example.runs = std::move(runs);
  example.hashes = std::move(hashes);
  example.values = std::move(values);
}

bool Derivation::gives(std::uint32_t group) {
  if (on() && source_at_.size() < groups_.size()) notice_groups();
  return on() && knows(group);
}

void Derivation::give(std::uint32_t group, std::uint32_t hash, float value) {
  if (given_.empty() || given_.back().group != group) given_.push_back({group, {}, {}});
  given_.back().hashes.push_back(hash);
  given_.back().values.push_back(value);
}

// The groups of empty cells that examples have brought, each once.
void Derivation::note_given() noexcept {
  for (const Given& given : given_) {
    if (given.hashes.empty() || !is_missing(groups_[given.group].name)) continue;
    if (std::find(brought_.begin(), brought_.end(), given.group) != brought_.end()) continue;
    brought_.push_back(given.group);  // there is room
    ++version_;
  }
}

std::uint32_t Derivation::find(const Source& source, std::uint32_t hash) const {
  if (source.table.empty()) return kNoColumn;
  const std::size_t mask = source.table.size() - 1;
  for (std::size_t at = hash & mask; source.table[at] != 0; at = (at + 1) & mask) {
    if (source.columns[source.table[at] - 1].hash == hash) return source.table[at] - 1;
  }
  return kNoColumn;
}

std::uint32_t Derivation::add_column(Source& source, std::uint32_t hash, const Names& names) {
  if (source.columns.size() >= kMostColumns || tracked_ >= kMostTracked) return kNoColumn;
  Tracked column{hash, names.name(groups_, source.group, hash), {}};
  column.stats.reserve(first_);
  scratch_.reserve(column.name.size() + kLongestNumber);
  if (source.table.empty()) source.table.resize(4 * kMostColumns);
  source.columns.push_back(std::move(column));
  const std::size_t mask = source.table.size() - 1;
  std::size_t at = hash & mask;
  while (source.table[at] != 0) at = (at + 1) & mask;
  source.table[at] = static_cast<std::uint32_t>(source.columns.size());
  ++tracked_;
  ++version_;
  stale_ = true;
  return static_cast<std::uint32_t>(source.columns.size() - 1);
}

// Most examples have the features of the one before.
void Derivation::find_columns(const Example& example, bool learning, const Names& names) {
  if (keys_.size() < example.hashes.size()) {
    column_at_.resize(example.hashes.size());
    keys_.resize(example.hashes.size(), kNoKey);
  }
  for (const Run& run : example.runs) {
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint64_t key = (std::uint64_t{run.group} << 32) | example.hashes[i];
      if (keys_[i] == key) continue;
      keys_[i] = kNoKey;
      if (source_at_[run.group] < 0) {
        if (!learning) {
          column_at_[i] = kNoColumn;
          continue;
        }
        sources_.push_back({run.group, {}, {}});
        source_at_[run.group] = static_cast<std::int32_t>(sources_.size() - 1);
      }
      Source& source = sources_[static_cast<std::size_t>(source_at_[run.group])];
      std::uint32_t column = find(source, example.hashes[i]);
      if (column == kNoColumn && learning) column = add_column(source, example.hashes[i], names);
      column_at_[i] = column;
      if (column != kNoColumn || learning) keys_[i] = key;
    }
  }
}

// What the columns give in every derived group, as far as it can be told by now.
void Derivation::make_bases() {
  for (Recipe& recipe : recipes_) {
    if (recipe.kind == Kind::kGiven) continue;
    if (recipe.source == kLabel) {
      make_basis(recipe, "label", nullptr, recipe.bases[0]);
      continue;
    }
    const std::int32_t at = recipe.source < source_at_.size() ? source_at_[recipe.source] : -1;
    if (at < 0) continue;
    const Source& source = sources_[static_cast<std::size_t>(at)];
    recipe.bases.resize(source.columns.size());
    for (std::size_t i = 0; i < source.columns.size(); ++i) {
      make_basis(recipe, source.columns[i].name, &source.columns[i].stats, recipe.bases[i]);
    }
  }
  stale_ = false;
}

void Derivation::make_basis(const Recipe& recipe, const std::string& name, const ColumnStats* stats, Basis& basis) const {
  Basis made;
  if (keeps_past(recipe.kind)) {
    if (basis.made) return;
    made.past.resize(recipe.kind == Kind::kLag ? static_cast<std::size_t>(recipe.parameter) : 1);
    made.made = true;
  } else if (recipe.kind == Kind::kBins) {
    made.made = stats->numeric();
    if (made.made) made.at = stats->knots(static_cast<std::size_t>(recipe.parameter));
    if (basis.made && basis.at == made.at) return;
  } else if (recipe.kind == Kind::kOneHot) {
    made.made = stats->codes();
    if (made.made) made.at = stats->values();
    if (basis.made && basis.at == made.at) return;
  } else if (recipe.kind == Kind::kCyclic) {
    made.made = stats->codes() && stats->least() >= 0.0F && static_cast<double>(stats->largest()) <= recipe.parameter;
    if (basis.made) return;
  } else {
    made.made = stats->numeric();
    if (basis.made) return;
  }
  if (made.made) {
    const std::uint32_t seed = groups_.seed(recipe.group);
    for (const std::string& feature : names_of(recipe, name, made)) made.hashes.push_back(hash_name(feature, seed));
  }
  basis = std::move(made);
}

// The features that a column can have in a derived group.
std::vector<std::string> Derivation::names_of(const Recipe& recipe, const std::string& name, const Basis& basis) const {
  std::vector<std::string> names;
  switch (recipe.kind) {
    case Kind::kBins:
      for (const float knot : basis.at) names.push_back(name + "@" + short_text(knot));
      break;
    case Kind::kOneHot:
      for (const float value : basis.at) names.push_back(name + "=" + short_text(value));
      names.push_back(name + "=other");
      break;
    case Kind::kCyclic:
      names = {name + ".sin", name + ".cos"};
      break;
    case Kind::kLag:
      for (std::size_t k = 1; k <= basis.past.size(); ++k) names.push_back(name + "." + std::to_string(k));
      break;
    default:
      names = {name};
  }
  return names;
}

void Derivation::reserve_more(Example& example) {
  std::size_t most = 0;
  for (const Recipe& recipe : recipes_) {
    most += 2 * std::min(example.raw_features(), recipe.bases.size());
    if (keeps_past(recipe.kind)) {
      for (const Basis& basis : recipe.bases) most += basis.past.size();
    }
  }
  for (const Given& given : given_) most += given.hashes.size();
  example.reserve(most);
  example.runs.reserve(example.runs.size() + recipes_.size());
}

Run Derivation::more(Example& example, std::uint32_t group) noexcept {
  if (!knows(group)) return {group, 0, 0};
  const std::size_t before = example.runs.size();
  make(recipes_[static_cast<std::size_t>(by_group_[group])], example);
  return example.runs.size() > before ? example.runs.back() : Run{group, 0, 0};
}

void Derivation::make(const Recipe& recipe, Example& example) {
  const auto begin = static_cast<std::uint32_t>(example.hashes.size());
  const auto own = std::find_if(given_.begin(), given_.end(), [&](const Given& g) { return g.group == recipe.group; });
  if (own != given_.end()) {
    for (std::size_t i = 0; i < own->hashes.size(); ++i) example.add(own->hashes[i], own->values[i]);
  } else if (keeps_past(recipe.kind)) {
    add_past(recipe, example);
  } else if (recipe.kind != Kind::kGiven && source_at_[recipe.source] >= 0) {
    const Source& source = sources_[static_cast<std::size_t>(source_at_[recipe.source])];
    for (std::size_t r = 0; r < example.raw_runs(); ++r) {
      const Run run = example.runs[r];
      if (run.group != recipe.source) continue;
      for (std::uint32_t i = run.begin; i < run.end; ++i) {
        const std::uint32_t column = column_at_[i];
        if (column == kNoColumn || column >= recipe.bases.size() || !recipe.bases[column].made) continue;
        add_features(recipe, source.columns[column], recipe.bases[column], example.values[i], example);
      }
    }
  }
  const auto end = static_cast<std::uint32_t>(example.hashes.size());
  if (end > begin) example.runs.push_back({recipe.group, begin, end});
}

void Derivation::add_features(const Recipe& recipe, const Tracked& column, const Basis& basis, float x,
                              Example& example) {
  const auto add = [&](std::size_t feature, float value) {
    if (value != 0.0F) example.add(basis.hashes[feature], value);
  };
  const auto X = static_cast<double>(x);
  switch (recipe.kind) {
    case Kind::kBins: {
      // A value between two knots is shared by them; one beyond the last counts as the last. Of
      // two features one may be absent: then examples have the same shape more often.
      const std::size_t count = basis.at.size();
      const std::size_t below = knots_up_to(basis.at, x);
      std::size_t left = below == 0 ? 0 : below - 1;
      float share = 0.0F;
      if (below == count) {
        left = count - 2;
        share = 1.0F;
      } else if (below > 0) {
        const auto from = static_cast<double>(basis.at[left]);
        share = static_cast<float>((X - from) / (static_cast<double>(basis.at[below]) - from));
      }
      example.add(basis.hashes[left], share < 1.0F ? 1.0F - share : kAbsent);
      return example.add(basis.hashes[left + 1], share > 0.0F ? share : kAbsent);
    }
    case Kind::kOneHot:
      return add_code(recipe, column, basis, x, example);
    case Kind::kCyclic: {
      const double angle = kTurn * X / recipe.parameter;
      const auto sine = static_cast<float>(std::sin(angle));
      const auto cosine = static_cast<float>(std::cos(angle));
      add(0, std::fabs(sine) < kTiny ? 0.0F : sine);
      return add(1, std::fabs(cosine) < kTiny ? 0.0F : cosine);
    }
    default:  // log
      return add(0, static_cast<float>(std::copysign(std::log1p(std::fabs(X)), X)));
  }
}

void Derivation::add_code(const Recipe& recipe, const Tracked& column, const Basis& basis, float x, Example& example) {
  const auto at = static_cast<std::size_t>(std::find(basis.at.begin(), basis.at.end(), x) - basis.at.begin());
  if (at < basis.at.size() || at == kMostValues) return example.add(basis.hashes[at], 1.0F);
  scratch_.assign(column.name).append("=").append(short_text(x));
  example.add(hash_name(scratch_, groups_.seed(recipe.group)), 1.0F);
}

// What was learned, the last first.
void Derivation::add_past(const Recipe& recipe, Example& example) const {
  for (const Basis& basis : recipe.bases) {
    const std::size_t n = basis.past.size();
    for (std::size_t k = 1; k <= n && k <= recipe.clock; ++k) {
      const float value = basis.past[n == 1 ? 0 : (recipe.clock - k) % n];
      if (value != 0.0F) example.add(basis.hashes[k - 1], value);
    }
  }
}

void Derivation::observe(const Example& example) noexcept {
  if (!on()) return;
  note_given();
  for (Recipe& recipe : recipes_) {
    if (keeps_past(recipe.kind)) remember(recipe, example);
  }
  for (std::size_t r = 0; r < example.raw_runs(); ++r) {
    const Run run = example.runs[r];
    if (source_at_[run.group] < 0) continue;
    Source& source = sources_[static_cast<std::size_t>(source_at_[run.group])];
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      if (column_at_[i] == kNoColumn) continue;
      ColumnStats& stats = source.columns[column_at_[i]].stats;
      const bool ready = stats.ready();
      if (!stats.observe(example.values[i])) continue;
      stale_ = true;
      version_ += ready ? 0 : 1;
    }
  }
}

// A column that an example does not have counts as 0, as everywhere.
void Derivation::remember(Recipe& recipe, const Example& example) noexcept {
  const auto store = [&](Basis& basis, float value) {
    const std::size_t n = basis.past.size();
    if (n == 0) return;
    if (recipe.kind == Kind::kLag) {
      basis.past[recipe.clock % n] = value;
    } else {
      const auto before = static_cast<double>(basis.past[0]);
      const double after = before + recipe.parameter * (static_cast<double>(value) - before);
      basis.past[0] = recipe.clock == 0 ? value : static_cast<float>(after);
    }
  };
  if (recipe.source == kLabel) {
    store(recipe.bases[0], example.label);
  } else {
    for (std::uint32_t column = 0; column < recipe.bases.size(); ++column) {
      float value = 0.0F;
      for (std::size_t r = 0; r < example.raw_runs(); ++r) {
        const Run run = example.runs[r];
        for (std::uint32_t i = run.begin; run.group == recipe.source && i < run.end; ++i) {
          if (column_at_[i] == column) value = example.values[i];
        }
      }
      store(recipe.bases[column], value);
    }
  }
  ++recipe.clock;
}

std::vector<std::pair<std::string, float>> Derivation::named(Example& example, std::uint32_t group) {
  std::vector<std::pair<std::string, float>> found;
  if (!knows(group)) return found;
  const Recipe& recipe = recipes_[static_cast<std::size_t>(by_group_[group])];
  reserve_more(example);
  const Run run = more(example, group);
  std::vector<std::pair<std::uint32_t, std::string>> known;
  for (std::size_t i = 0; i < recipe.bases.size(); ++i) {
    if (!recipe.bases[i].made) continue;
    const bool label = recipe.source == kLabel;
    const std::string name = label ? "label" : sources_[static_cast<std::size_t>(source_at_[recipe.source])].columns[i].name;
    const std::vector<std::string> names = names_of(recipe, name, recipe.bases[i]);
    for (std::size_t k = 0; k < names.size(); ++k) known.emplace_back(recipe.bases[i].hashes[k], names[k]);
  }
  for (std::uint32_t i = run.begin; i < run.end; ++i) {
    if (is_absent(example.values[i])) continue;
    const auto at = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == example.hashes[i]; });
    // A name that is not known (a new value, a group that was given) stands for itself as a number.
    const std::uint32_t number = example.hashes[i] - groups_.seed(group);
    found.emplace_back(at != known.end() ? at->second : std::to_string(number), example.values[i]);
  }
  return found;
}

std::vector<Derivation::Shown> Derivation::bases(std::uint32_t group) {
  std::vector<Shown> found;
  if (!knows(group)) return found;
  if (stale_) make_bases();
  const Recipe& recipe = recipes_[static_cast<std::size_t>(by_group_[group])];
  for (std::size_t i = 0; i < recipe.bases.size(); ++i) {
    if (!recipe.bases[i].made) continue;
    const bool label = recipe.source == kLabel;
    const auto at = label ? 0 : static_cast<std::size_t>(source_at_[recipe.source]);
    const Tracked* const column = label ? nullptr : &sources_[at].columns[i];
    found.push_back({label ? "label" : column->name, recipe.bases[i].at, recipe.bases[i].past, label ? 0 : column->hash});
  }
  return found;
}

std::uint64_t Derivation::clock(std::uint32_t group) const {
  return knows(group) ? recipes_[static_cast<std::size_t>(by_group_[group])].clock : 0;
}

std::vector<Derivation::Seen> Derivation::columns() const {
  std::vector<Seen> all;
  for (const Source& source : sources_) {
    for (const Tracked& column : source.columns) all.push_back({source.group, &column.name, &column.stats});
  }
  return all;
}

std::size_t Derivation::bytes() const {
  std::size_t total = 0;
  for (const Source& source : sources_) {
    total += source.table.capacity() * sizeof(std::uint32_t);
    for (const Tracked& column : source.columns) total += sizeof(Tracked) + column.name.capacity() + column.stats.bytes();
  }
  for (const Recipe& recipe : recipes_) {
    for (const Basis& basis : recipe.bases) {
      total += sizeof(Basis) + 4 * (basis.at.capacity() + basis.hashes.capacity() + basis.past.capacity());
    }
  }
  return total;
}

}  // namespace chacha
