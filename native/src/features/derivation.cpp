#include "features/derivation.hpp"

#include <algorithm>
#include <stdexcept>

namespace chacha {
namespace {

constexpr std::uint64_t kNoKey = 0xffffffffffffffffULL;
constexpr std::size_t kMoreRoom = 8;  // values that a column gets room for at a time

void check(const DerivedKind& kind, std::uint32_t source, double parameter) {
  if (!kind.limits.allow(parameter)) {
    throw std::invalid_argument("no such number for a derived group: " + std::string(kind.name) +
                                "(..., " + std::to_string(parameter) + ")");
  }
  if (source == kLabel && !kind.keeps_past()) {
    throw std::invalid_argument("of the label there are lags and means");
  }
}

template <class T>
void make_room(std::vector<T>& all, std::size_t size) {
  if (all.capacity() < size) all.reserve(std::max(size, 2 * all.capacity()));
}

}  // namespace

void Derivation::turn_on(std::size_t first) {
  notice_groups();
  first_ = first;
}

void Derivation::add(std::uint32_t group, const DerivedKind& kind, std::uint32_t source,
                     double parameter) {
  check(kind, source, parameter);
  if (by_group_.size() < groups_.size()) by_group_.resize(groups_.size(), -1);
  if (made_of_.size() < groups_.size()) made_of_.resize(groups_.size());
  if (is_derived(group)) return;
  Recipe recipe{&kind, group, source, groups_.seed(group), parameter, 0, {}, {}};
  if (source == kLabel) recipe.bases.resize(1);
  kind.prepare(recipe);
  recipes_.push_back(std::move(recipe));
  by_group_[group] = static_cast<std::int32_t>(recipes_.size() - 1);
  letters_[groups_.letter(group)] = true;
  if (source != kLabel) made_of_[source] += kind.most_of_one;
  stale_ = true;
}

Derivation::Needed Derivation::find_needed(const std::vector<std::uint32_t>& groups) const {
  Needed needed;
  for (const std::uint32_t group : groups) {
    if (is_derived(group)) needed.push_back(static_cast<std::uint32_t>(by_group_[group]));
  }
  const auto name = [this](std::uint32_t recipe) -> const std::string& {
    return groups_[recipes_[recipe].group].name;
  };
  std::sort(needed.begin(), needed.end(), [&](auto a, auto b) { return name(a) < name(b); });
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  return needed;
}

// Makes room for new groups. Groups of the stream called missing(...) become given groups.
void Derivation::notice_groups() {
  const auto first = static_cast<std::uint32_t>(source_at_.size());
  for (std::uint32_t group = first; group < groups_.size(); ++group) {
    if (is_missing_group(groups_[group].name)) add(group, missing_kind(), group, 0.0);
  }
  made_of_.resize(groups_.size());
  runs_.resize(groups_.size());
  source_at_.resize(groups_.size(), -1);
}

void Derivation::derive(Example& example, bool learning, const Names& names) {
  example.drop_derived();
  if (!on()) return;
  if (source_at_.size() < groups_.size()) notice_groups();
  if (!unlearned_.empty() || new_sources_ > 0) drop_unlearned();
  const std::size_t most = find_columns(example, learning, names);
  if (learning && (most > room_ || !tight_.empty())) make_room_for_columns(most);
  update_bases();
  example.begin_derived();
  for (const std::uint32_t recipe : needed_) make(recipes_[recipe], example);
  if (!learning) return;
  reserve_more(example);
  make_room(missing_groups_, missing_groups_.size() + given_count_);
}

void Derivation::set_apart(Example& example) {
  given_count_ = 0;
  if (!on()) return;
  if (source_at_.size() < groups_.size()) notice_groups();
  const auto derived = [this](const Run& run) { return is_derived(run.group); };
  if (std::none_of(example.runs.begin(), example.runs.end(), derived)) return;
  for (const Run& run : example.runs) {
    if (!derived(run)) continue;
    Given& given = given_of(run.group);
    const auto append = [&](auto& to, const auto& from) {
      to.insert(to.end(), from.begin() + run.begin, from.begin() + run.end);
    };
    append(given.hashes, example.hashes);
    append(given.values, example.values);
  }
  // Close the gaps.
  std::size_t runs = 0;
  std::uint32_t end = 0;
  for (const Run run : example.runs) {
    if (derived(run)) continue;
    const std::uint32_t begin = end;
    end += run.end - run.begin;
    const auto move = [&](auto& all) {
      std::copy(all.begin() + run.begin, all.begin() + run.end, all.begin() + begin);
    };
    move(example.hashes);
    move(example.values);
    if (!example.read.empty()) move(example.read);
    example.runs[runs++] = {run.group, begin, end};
  }
  example.runs.resize(runs);
  example.hashes.resize(end);
  example.values.resize(end);
  if (!example.read.empty()) example.read.resize(end);
}

bool Derivation::accepts_given(std::uint32_t group) {
  if (on() && source_at_.size() < groups_.size()) notice_groups();
  return sets_apart(group);
}

void Derivation::add_given(std::uint32_t group, std::uint32_t hash, float value) {
  Given& given = given_of(group);
  given.hashes.push_back(hash);
  given.values.push_back(value);
}

Derivation::Given& Derivation::given_of(std::uint32_t group) {
  const auto end = given_.begin() + static_cast<std::ptrdiff_t>(given_count_);
  const auto same = [&](const Given& given) { return given.group == group; };
  const auto at = std::find_if(given_.begin(), end, same);
  if (at != end) return *at;
  if (given_count_ == given_.size()) given_.emplace_back();
  Given& given = given_[given_count_++];
  given.group = group;
  given.hashes.clear();
  given.values.clear();
  return given;
}

// A learned example had the given group; notes it if it is of missing cells.
void Derivation::note_given(const Given& given) noexcept {
  if (given.hashes.empty() || !is_missing_group(groups_[given.group].name)) return;
  const auto end = missing_groups_.end();
  if (std::find(missing_groups_.begin(), end, given.group) != end) return;
  missing_groups_.push_back(given.group);  // there is room
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

void Derivation::grow_table(Source& source) {
  std::vector<std::uint32_t> larger(std::max(std::size_t{4}, 2 * source.table.size()));
  const std::size_t mask = larger.size() - 1;
  for (std::uint32_t column = 0; column < source.columns.size(); ++column) {
    std::size_t at = source.columns[column].hash & mask;
    while (larger[at] != 0) at = (at + 1) & mask;
    larger[at] = column + 1;
  }
  source.table.swap(larger);
}

// Makes room for the values of an example, of which a column has at most `most`, so that `observe`
// does not throw.
void Derivation::make_room_for_columns(std::size_t most) {
  if (most > room_) {
    for (Source& source : sources_) {
      for (TrackedColumn& column : source.columns) {
        if (column.stats.room() < most) column.stats.make_room(most + kMoreRoom);
      }
    }
    room_ = most;
  }
  for (; !tight_.empty(); tight_.pop_back()) {
    TrackedColumn& column = sources_[tight_.back().source].columns[tight_.back().column];
    column.stats.make_room(room_ + kMoreRoom);
    column.tight = false;
  }
}

std::uint32_t Derivation::add_column(std::uint32_t number, std::uint32_t hash, const Names& names) {
  Source& source = sources_[number];
  if (source.columns.size() >= kMostColumns || tracked_ >= kMostTracked) return kNoColumn;
  TrackedColumn column{hash, false, true, names.name(groups_, source.group, hash), {}};
  column.stats.begin(first_);
  scratch_.reserve(column.name.size() + 1 + kLongestNumber);
  if (source.table.size() < 4 * (source.columns.size() + 1)) grow_table(source);
  make_room(changed_, tracked_ + 1);
  make_room(tight_, tracked_ + 1);
  make_room(unlearned_, unlearned_.size() + 1);
  source.columns.push_back(std::move(column));
  const std::size_t mask = source.table.size() - 1;
  std::size_t at = hash & mask;
  while (source.table[at] != 0) at = (at + 1) & mask;
  source.table[at] = static_cast<std::uint32_t>(source.columns.size());
  tight_.push_back({number, source.table[at] - 1});
  unlearned_.push_back(number);
  ++tracked_;
  stale_ = true;
  return static_cast<std::uint32_t>(source.columns.size() - 1);
}

// The last example was not learned: removes the columns that were new in it.
void Derivation::drop_unlearned() noexcept {
  for (; !unlearned_.empty(); unlearned_.pop_back()) {
    Source& source = sources_[unlearned_.back()];
    const std::size_t mask = source.table.size() - 1;
    std::size_t at = source.columns.back().hash & mask;
    while (source.table[at] != source.columns.size()) at = (at + 1) & mask;
    source.table[at] = 0;  // no other entry follows the last that was added
    if (source.columns.back().tight) tight_.pop_back();  // it came last there, too
    source.columns.pop_back();
    --tracked_;
    for (Recipe& recipe : recipes_) {
      if (recipe.source != source.group) continue;
      if (recipe.bases.size() > source.columns.size()) recipe.bases.resize(source.columns.size());
    }
  }
  for (; new_sources_ > 0; --new_sources_) {
    source_at_[sources_.back().group] = -1;
    sources_.pop_back();
  }
  std::fill(keys_.begin(), keys_.end(), kNoKey);
}

// Finds the columns of raw features. Most examples have the features of the one before. Returns the
// most values that one column may have.
std::size_t Derivation::find_columns(const Example& example, bool learning, const Names& names) {
  if (keys_.size() < example.hashes.size()) {
    column_at_.resize(example.hashes.size());
    keys_.resize(example.hashes.size(), kNoKey);
  }
  ++example_;
  std::size_t most = 0;
  for (std::uint32_t r = 0; r < example.runs.size(); ++r) {
    const Run run = example.runs[r];
    RunRange& range = runs_[run.group];
    const bool again = range.example == example_;
    if (!again) range = {example_, r, r};
    range.last = r;
    most = std::max(most, again ? example.hashes.size() : std::size_t{run.end - run.begin});
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      const std::uint64_t key = (std::uint64_t{run.group} << 32) | example.hashes[i];
      if (keys_[i] == key) continue;
      keys_[i] = kNoKey;
      column_at_[i] = kNoColumn;
      if (is_absent(example.values[i])) continue;
      if (source_at_[run.group] < 0) {
        if (!learning) continue;
        sources_.push_back({run.group, {}, {}});
        source_at_[run.group] = static_cast<std::int32_t>(sources_.size() - 1);
        ++new_sources_;
      }
      const auto number = static_cast<std::uint32_t>(source_at_[run.group]);
      std::uint32_t column = find(sources_[number], example.hashes[i]);
      if (column == kNoColumn && learning) {
        column = add_column(number, example.hashes[i], names);
      }
      column_at_[i] = column;
      if (column != kNoColumn || learning) keys_[i] = key;
    }
  }
  return most;
}

// Makes the bases of new and changed columns in every derived group.
void Derivation::make_bases() {
  past_ = 0;
  for (Recipe& recipe : recipes_) {
    if (recipe.kind->given()) continue;
    const std::int32_t at = recipe.source < source_at_.size() ? source_at_[recipe.source] : -1;
    if (recipe.source == kLabel) make_basis(recipe, "label", nullptr, recipe.bases[0]);
    if (at >= 0) {
      const std::vector<TrackedColumn>& columns = sources_[static_cast<std::size_t>(at)].columns;
      for (std::size_t i = recipe.bases.size(); i < columns.size(); ++i) {
        Basis basis;
        make_basis(recipe, columns[i].name, &columns[i].stats, basis);
        recipe.bases.push_back(std::move(basis));
      }
    }
    if (now_.size() < recipe.bases.size()) now_.resize(recipe.bases.size());
    // The pasts of all columns are of one length.
    if (!recipe.bases.empty()) past_ += recipe.bases.size() * recipe.bases.front().past.size();
  }
  for (const ColumnPlace& place : changed_) {
    Source& source = sources_[place.source];
    TrackedColumn& column = source.columns[place.column];
    for (Recipe& recipe : recipes_) {
      if (recipe.source != source.group || recipe.kind->given()) continue;
      make_basis(recipe, column.name, &column.stats, recipe.bases[place.column]);
    }
    column.stats.pack();
  }
  for (const ColumnPlace& place : changed_) {
    sources_[place.source].columns[place.column].changed = false;
  }
  changed_.clear();
  stale_ = false;
}

void Derivation::make_basis(const Recipe& recipe, const std::string& name, const ColumnStats* stats,
                            Basis& basis) {
  const DerivedKind& kind = *recipe.kind;
  if (basis.ready && kind.keeps_past()) return;
  Basis fresh;
  kind.fit(recipe.parameter, stats, fresh);
  if (basis.ready && basis.at == fresh.at) return;
  if (fresh.ready) {
    for (const std::string& feature : kind.names(name, fresh)) {
      fresh.hashes.push_back(hash_name(feature, recipe.seed));
    }
  }
  basis = std::move(fresh);
}

}  // namespace chacha
