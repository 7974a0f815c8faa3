#include "derived.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace chacha {
namespace {

constexpr std::uint32_t kNoColumn = 0xffffffffU;
constexpr std::uint64_t kNoKey = 0xffffffffffffffffULL;
constexpr std::size_t kLongestNumber = 24;  // letters, with what joins it to a name
constexpr double kTurn = 6.283185307179586;
constexpr float kTiny = 1e-7F;  // the sine of π is not quite 0

constexpr std::size_t kFewKnots = 64;  // that are faster looked at one by one
constexpr int kTurnBits = 8;           // of the places for turns that were looked up

bool keeps_past(Kind kind) { return kind == Kind::kLag || kind == Kind::kEwma; }

bool is_missing(const std::string& name) { return name.rfind("missing(", 0) == 0 && name.back() == ')'; }

void check(Kind kind, std::uint32_t source, double parameter) {
  const auto within = [&](double low, double high) {
    if (!(parameter >= low && parameter <= high)) throw std::invalid_argument("no such number for a derived group");
  };
  if (kind == Kind::kBins) within(2.0, 1024.0);
  if (kind == Kind::kCyclic) within(1.0, 1e6);
  if (kind == Kind::kLag) within(1.0, 1000.0);
  if (kind == Kind::kEwma) within(0.0, 1.0);
  if (source == kLabel && !keeps_past(kind)) throw std::invalid_argument("of the label there are lags and means");
}

// Features that one of a raw group gives, at most.
std::size_t made_of_one(Kind kind) { return kind == Kind::kBins || kind == Kind::kCyclic ? 2 : 1; }

template <class T>
void make_room(std::vector<T>& all, std::size_t size) {
  if (all.capacity() < size) all.reserve(std::max(size, 2 * all.capacity()));
}

// How many knots are not above x, without a branch: where a value lies is hard to foresee.
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

void Derivation::turn_on(std::size_t first) {
  now_.resize(kMostColumns);
  notice_groups();
  first_ = first;
}

void Derivation::add(std::uint32_t group, Kind kind, std::uint32_t source, double parameter) {
  check(kind, source, parameter);
  if (by_group_.size() < groups_.size()) by_group_.resize(groups_.size(), -1);
  if (made_of_.size() < groups_.size()) made_of_.resize(groups_.size());
  if (knows(group)) return;
  Recipe recipe{kind, group, source, parameter, 0, {}, {}};
  if (source == kLabel) recipe.bases.resize(1);
  if (kind == Kind::kCyclic) {
    recipe.turns.resize(std::size_t{1} << kTurnBits, {std::numeric_limits<float>::quiet_NaN(), 0.0F, 0.0F});
  }
  recipes_.push_back(std::move(recipe));
  by_group_[group] = static_cast<std::int32_t>(recipes_.size() - 1);
  if (source != kLabel) made_of_[source] += made_of_one(kind);
  stale_ = true;
}

Derivation::Needed Derivation::find_needed(const std::vector<std::uint32_t>& groups) const {
  Needed needed;
  for (const std::uint32_t group : groups) {
    if (knows(group)) needed.push_back(static_cast<std::uint32_t>(by_group_[group]));
  }
  const auto name = [this](std::uint32_t recipe) -> const std::string& { return groups_[recipes_[recipe].group].name; };
  std::sort(needed.begin(), needed.end(), [&](auto a, auto b) { return name(a) < name(b); });
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  return needed;
}

// Groups that the stream itself calls missing(...) are used only by models that want them.
void Derivation::notice_groups() {
  for (auto group = static_cast<std::uint32_t>(source_at_.size()); group < groups_.size(); ++group) {
    if (!is_missing(groups_[group].name)) continue;
    add(group, Kind::kGiven, group, 0.0);
  }
  made_of_.resize(groups_.size());
  where_.resize(groups_.size());
  source_at_.resize(groups_.size(), -1);
}

void Derivation::derive(Example& example, bool learning, const Names& names) {
  example.drop_derived();
  if (!on()) return;
  if (source_at_.size() < groups_.size()) notice_groups();
  if (!unlearned_.empty() || new_sources_ > 0) drop_unlearned();
  find_columns(example, learning, names);
  if (stale_) make_bases();
  example.begin_derived();
  for (const std::uint32_t recipe : needed_) make(recipes_[recipe], example);
  if (!learning) return;
  reserve_more(example);
  make_room(brought_, brought_.size() + given_count_);
}

void Derivation::set_apart(Example& example) {
  given_count_ = 0;
  if (!on()) return;
  if (source_at_.size() < groups_.size()) notice_groups();
  const auto derived = [this](const Run& run) { return knows(run.group); };
  if (std::none_of(example.runs.begin(), example.runs.end(), derived)) return;
  for (const Run& run : example.runs) {
    if (!derived(run)) continue;
    Given& given = given_of(run.group);
    given.hashes.insert(given.hashes.end(), example.hashes.begin() + run.begin, example.hashes.begin() + run.end);
    given.values.insert(given.values.end(), example.values.begin() + run.begin, example.values.begin() + run.end);
  }
  // What is left moves together.
  std::size_t kept = 0;
  std::uint32_t end = 0;
  for (const Run run : example.runs) {
    if (derived(run)) continue;
    const std::uint32_t begin = end;
    end += run.end - run.begin;
    std::copy(example.hashes.begin() + run.begin, example.hashes.begin() + run.end, example.hashes.begin() + begin);
    std::copy(example.values.begin() + run.begin, example.values.begin() + run.end, example.values.begin() + begin);
    example.runs[kept++] = {run.group, begin, end};
  }
  example.runs.resize(kept);
  example.hashes.resize(end);
  example.values.resize(end);
}

bool Derivation::gives(std::uint32_t group) {
  if (on() && source_at_.size() < groups_.size()) notice_groups();
  return sets_apart(group);
}

void Derivation::give(std::uint32_t group, std::uint32_t hash, float value) {
  Given& given = given_of(group);
  given.hashes.push_back(hash);
  given.values.push_back(value);
}

Derivation::Given& Derivation::given_of(std::uint32_t group) {
  const auto end = given_.begin() + static_cast<std::ptrdiff_t>(given_count_);
  const auto at = std::find_if(given_.begin(), end, [&](const Given& given) { return given.group == group; });
  if (at != end) return *at;
  if (given_count_ == given_.size()) given_.emplace_back();
  Given& given = given_[given_count_++];
  given.group = group;
  given.hashes.clear();
  given.values.clear();
  return given;
}

// An example that was learned has brought this group: of empty cells, if it has some.
void Derivation::note_given(const Given& given) noexcept {
  if (given.hashes.empty() || !is_missing(groups_[given.group].name)) return;
  if (std::find(brought_.begin(), brought_.end(), given.group) != brought_.end()) return;
  brought_.push_back(given.group);  // there is room
  ++version_;
}

std::uint32_t Derivation::find(const Source& source, std::uint32_t hash) const {
  if (source.table.empty()) return kNoColumn;
  const std::size_t mask = source.table.size() - 1;
  for (std::size_t at = hash & mask; source.table[at] != 0; at = (at + 1) & mask) {
    if (source.columns[source.table[at] - 1].hash == hash) return source.table[at] - 1;
  }
  return kNoColumn;
}

std::uint32_t Derivation::add_column(std::uint32_t number, std::uint32_t hash, const Names& names) {
  Source& source = sources_[number];
  if (source.columns.size() >= kMostColumns || tracked_ >= kMostTracked) return kNoColumn;
  Tracked column{hash, false, names.name(groups_, source.group, hash), {}};
  column.stats.reserve(first_);
  scratch_.reserve(column.name.size() + kLongestNumber);
  if (source.table.empty()) source.table.resize(4 * kMostColumns);
  make_room(changed_, tracked_ + 1);
  make_room(unlearned_, unlearned_.size() + 1);
  source.columns.push_back(std::move(column));
  const std::size_t mask = source.table.size() - 1;
  std::size_t at = hash & mask;
  while (source.table[at] != 0) at = (at + 1) & mask;
  source.table[at] = static_cast<std::uint32_t>(source.columns.size());
  unlearned_.push_back(number);
  ++tracked_;
  stale_ = true;
  return static_cast<std::uint32_t>(source.columns.size() - 1);
}

// The last example was not learned after all: its columns are unknown as before.
void Derivation::drop_unlearned() noexcept {
  for (; !unlearned_.empty(); unlearned_.pop_back()) {
    Source& source = sources_[unlearned_.back()];
    const std::size_t mask = source.table.size() - 1;
    std::size_t at = source.columns.back().hash & mask;
    while (source.table[at] != source.columns.size()) at = (at + 1) & mask;
    source.table[at] = 0;  // nothing stands behind what was added last
    source.columns.pop_back();
    --tracked_;
    for (Recipe& recipe : recipes_) {
      const bool made = recipe.source == source.group && recipe.bases.size() > source.columns.size();
      if (made) recipe.bases.resize(source.columns.size());
    }
  }
  for (; new_sources_ > 0; --new_sources_) {
    source_at_[sources_.back().group] = -1;
    sources_.pop_back();
  }
  std::fill(keys_.begin(), keys_.end(), kNoKey);
}

// Most examples have the features of the one before.
void Derivation::find_columns(const Example& example, bool learning, const Names& names) {
  if (keys_.size() < example.hashes.size()) {
    column_at_.resize(example.hashes.size());
    keys_.resize(example.hashes.size(), kNoKey);
  }
  ++example_;
  for (std::uint32_t r = 0; r < example.runs.size(); ++r) {
    const Run run = example.runs[r];
    Where& where = where_[run.group];
    if (where.example != example_) where = {example_, r, r};
    where.last = r;
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint64_t key = (std::uint64_t{run.group} << 32) | example.hashes[i];
      if (keys_[i] == key) continue;
      keys_[i] = kNoKey;
      column_at_[i] = kNoColumn;
      if (source_at_[run.group] < 0) {
        if (!learning) continue;
        sources_.push_back({run.group, {}, {}});
        source_at_[run.group] = static_cast<std::int32_t>(sources_.size() - 1);
        ++new_sources_;
      }
      const auto number = static_cast<std::uint32_t>(source_at_[run.group]);
      std::uint32_t column = find(sources_[number], example.hashes[i]);
      if (column == kNoColumn && learning) column = add_column(number, example.hashes[i], names);
      column_at_[i] = column;
      if (column != kNoColumn || learning) keys_[i] = key;
    }
  }
}

// What the columns give in every derived group, as far as it can be told by now.
void Derivation::make_bases() {
  past_ = 0;
  for (Recipe& recipe : recipes_) {
    if (recipe.kind == Kind::kGiven) continue;
    const std::int32_t at = recipe.source < source_at_.size() ? source_at_[recipe.source] : -1;
    if (recipe.source == kLabel) make_basis(recipe, "label", nullptr, recipe.bases[0]);
    if (at >= 0) {
      const std::vector<Tracked>& columns = sources_[static_cast<std::size_t>(at)].columns;
      for (std::size_t i = recipe.bases.size(); i < columns.size(); ++i) {
        Basis basis;
        make_basis(recipe, columns[i].name, &columns[i].stats, basis);
        recipe.bases.push_back(std::move(basis));
      }
    }
    if (!recipe.bases.empty()) past_ += recipe.bases.size() * recipe.bases.front().past.size();  // all have as many
  }
  for (const Place& place : changed_) {
    const Source& source = sources_[place.source];
    const Tracked& column = source.columns[place.column];
    for (Recipe& recipe : recipes_) {
      if (recipe.source != source.group || recipe.kind == Kind::kGiven) continue;
      make_basis(recipe, column.name, &column.stats, recipe.bases[place.column]);
    }
  }
  for (const Place& place : changed_) sources_[place.source].columns[place.column].changed = false;
  changed_.clear();
  stale_ = false;
}

void Derivation::make_basis(const Recipe& recipe, const std::string& name, const ColumnStats* stats,
                            Basis& basis) const {
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
  std::size_t most = past_;
  for (std::size_t r = 0; r < example.raw_runs(); ++r) {
    const Run run = example.runs[r];
    most += (run.end - run.begin) * made_of_[run.group];
  }
  for (std::size_t i = 0; i < given_count_; ++i) most += given_[i].hashes.size();
  example.reserve(most);
  example.runs.reserve(example.runs.size() + recipes_.size());
}

Run Derivation::more(Example& example, std::uint32_t group) noexcept {
  if (!on() || !knows(group)) return {group, 0, 0};
  const std::size_t before = example.runs.size();
  make(recipes_[static_cast<std::size_t>(by_group_[group])], example);
  return example.runs.size() > before ? example.runs.back() : Run{group, 0, 0};
}

// Calls add(basis, value, column) for the features of a source that give something, with room
// for what is made of them.
template <class Add>
void Derivation::each_feature(const Recipe& recipe, Example& example, Add add) const {
  if (recipe.source >= where_.size() || where_[recipe.source].example != example_) return;
  const Where where = where_[recipe.source];
  for (std::uint32_t r = where.first; r <= where.last; ++r) {
    const Run run = example.runs[r];
    if (run.group != recipe.source) continue;
    example.reserve((run.end - run.begin) * made_of_one(recipe.kind));
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint32_t column = column_at_[i];
      if (column >= recipe.bases.size()) continue;  // none, or it is not known here
      const Basis& basis = recipe.bases[column];
      if (basis.made) add(basis, example.values[i], column);
    }
  }
}

void Derivation::make(Recipe& recipe, Example& example) {
  const auto begin = static_cast<std::uint32_t>(example.hashes.size());
  std::size_t own = 0;
  while (own < given_count_ && given_[own].group != recipe.group) ++own;
  if (own < given_count_) {
    const Given& given = given_[own];
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
      // A value between two knots is shared by them; one beyond the last counts as the last. Of
      // two features one may be absent: then examples have the same shape more often.
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
        example.add_unless_zero(basis.hashes[0], static_cast<float>(std::copysign(std::log1p(std::fabs(X)), X)));
      });
    case Kind::kLag:
    case Kind::kEwma:
      return add_past(recipe, example);
    case Kind::kGiven:
      return;
  }
}

// The feature of a value. One that is not known has its name all the same, unless there are too many.
std::uint32_t Derivation::code_of(const Recipe& recipe, const Basis& basis, float x, std::uint32_t column) {
  const std::uint32_t known = find_value(basis.at, x);
  if (known > 0) return basis.hashes[known - 1];
  if (basis.at.size() == kMostValues) return basis.hashes[kMostValues];
  const Source& source = sources_[static_cast<std::size_t>(source_at_[recipe.source])];
  scratch_.assign(source.columns[column].name).append("=").append(short_text(x));
  return hash_name(scratch_, groups_.seed(recipe.group));
}

// Columns that go round have few values: most were looked up before.
const Derivation::Turn& Derivation::turn_of(Recipe& recipe, float x) noexcept {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  Turn& turn = recipe.turns[(bits * 0x9e3779b1U) >> (32 - kTurnBits)];
  if (turn.x == x) return turn;
  const double angle = kTurn * static_cast<double>(x) / recipe.parameter;
  const auto sine = static_cast<float>(std::sin(angle));
  const auto cosine = static_cast<float>(std::cos(angle));
  turn = {x, std::fabs(sine) < kTiny ? 0.0F : sine, std::fabs(cosine) < kTiny ? 0.0F : cosine};
  return turn;
}

// What was learned, the last first.
void Derivation::add_past(const Recipe& recipe, Example& example) {
  if (recipe.bases.empty()) return;
  const std::size_t n = recipe.bases.front().past.size();
  const auto known = static_cast<std::size_t>(std::min<std::uint64_t>(n, recipe.clock));
  const auto next = static_cast<std::size_t>(recipe.clock % n);
  example.reserve(known * recipe.bases.size());
  for (const Basis& basis : recipe.bases) {
    std::size_t at = next;
    for (std::size_t k = 0; k < known; ++k) {
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
      if (column_at_[i] == kNoColumn) continue;
      Tracked& column = sources_[number].columns[column_at_[i]];
      const bool ready = column.stats.ready();
      if (!column.stats.observe(example.values[i])) continue;
      stale_ = true;
      version_ += ready ? 0 : 1;
      if (!column.changed) changed_.push_back({number, column_at_[i]});
      column.changed = true;
    }
  }
}

// A column that an example does not have counts as 0, as everywhere.
void Derivation::remember(Recipe& recipe, const Example& example) noexcept {
  if (recipe.source == kLabel) {
    now_[0] = example.label;
  } else {
    std::fill_n(now_.begin(), recipe.bases.size(), 0.0F);
    for (std::size_t r = 0; r < example.raw_runs(); ++r) {
      const Run run = example.runs[r];
      for (std::uint32_t i = run.begin; run.group == recipe.source && i < run.end; ++i) {
        if (column_at_[i] < recipe.bases.size()) now_[column_at_[i]] = example.values[i];
      }
    }
  }
  for (std::size_t column = 0; column < recipe.bases.size(); ++column) {
    std::vector<float>& ring = recipe.bases[column].past;
    if (ring.empty()) continue;  // it came to be known after the example was derived
    float& past = ring[ring.size() == 1 ? 0 : static_cast<std::size_t>(recipe.clock % ring.size())];
    const auto before = static_cast<double>(past);
    const double after = before + recipe.parameter * (static_cast<double>(now_[column]) - before);
    past = recipe.kind == Kind::kLag || recipe.clock == 0 ? now_[column] : static_cast<float>(after);
  }
  ++recipe.clock;
}

std::vector<std::pair<std::string, float>> Derivation::named(Example& example, std::uint32_t group) {
  std::vector<std::pair<std::string, float>> found;
  if (!on() || !knows(group)) return found;
  const Recipe& recipe = recipes_[static_cast<std::size_t>(by_group_[group])];
  reserve_more(example);
  const Run run = more(example, group);
  std::vector<std::pair<std::uint32_t, std::string>> known;
  for (std::size_t i = 0; i < recipe.bases.size(); ++i) {
    if (!recipe.bases[i].made) continue;
    const bool label = recipe.source == kLabel;
    const auto at = label ? 0 : static_cast<std::size_t>(source_at_[recipe.source]);
    const std::string name = label ? "label" : sources_[at].columns[i].name;
    const std::vector<std::string> names = names_of(recipe, name, recipe.bases[i]);
    for (std::size_t k = 0; k < names.size(); ++k) known.emplace_back(recipe.bases[i].hashes[k], names[k]);
  }
  for (std::uint32_t i = run.begin; i < run.end; ++i) {
    if (is_absent(example.values[i])) continue;
    const auto same = [&](const auto& one) { return one.first == example.hashes[i]; };
    const auto at = std::find_if(known.begin(), known.end(), same);
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
    total += sizeof(Source) + source.table.capacity() * sizeof(std::uint32_t);
    for (const Tracked& column : source.columns) {
      total += sizeof(Tracked) + column.name.capacity() + column.stats.bytes();
    }
  }
  for (const Recipe& recipe : recipes_) {
    total += sizeof(Recipe) + recipe.turns.capacity() * sizeof(Turn);
    for (const Basis& basis : recipe.bases) {
      total += sizeof(Basis) + 4 * (basis.at.capacity() + basis.hashes.capacity() + basis.past.capacity());
    }
  }
  return total;
}

}  // namespace chacha
