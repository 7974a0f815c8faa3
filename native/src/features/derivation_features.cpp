// Derived groups: the features of an example, and the statistics it adds to.
#include <algorithm>
#include <limits>

#include "base/bytes.hpp"
#include "features/derivation.hpp"

namespace chacha {
namespace {

// What a label is beyond the origin, within the range of floats.
float beyond(double label, double origin) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::min(std::max(label - origin, -kMost), kMost));
}

// Where a hash is among some, or their number. Without a branch: compilers make vectors of it.
std::uint32_t first_place(const std::vector<std::uint32_t>& hashes, std::uint32_t hash) {
  const auto count = static_cast<std::uint32_t>(hashes.size());
  std::uint32_t first = count;
  for (std::uint32_t i = 0; i < count; ++i) first = std::min(first, hashes[i] == hash ? i : count);
  return first;
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

// Where the features of a raw group are in the current example.
SourceFeatures Derivation::source_features(std::uint32_t group) {
  if (group >= runs_.size() || runs_[group].example != example_)
    return {1, 0, nullptr, nullptr, {}};
  const std::int32_t at = source_at_[group];
  const TrackedColumn* const columns =
      at < 0 ? nullptr : sources_[static_cast<std::size_t>(at)].columns.data();
  return {runs_[group].first, runs_[group].last, column_at_.data(), columns, &scratch_};
}

void Derivation::make(Recipe& recipe, Example& example) {
  const auto begin = static_cast<std::uint32_t>(example.hashes.size());
  std::size_t i = 0;
  while (i < given_count_ && given_[i].group != recipe.group) ++i;
  if (i < given_count_) {
    const Given& given = given_[i];
    example.hashes.append(given.hashes.data(), given.hashes.data() + given.hashes.size());
    example.values.append(given.values.data(), given.values.data() + given.values.size());
  } else if (!recipe.kind->given()) {
    recipe.kind->add(recipe, source_features(recipe.source), example);
  }
  const auto end = static_cast<std::uint32_t>(example.hashes.size());
  if (end > begin) example.runs.push_back({recipe.group, begin, end});
}

void Derivation::observe(const Example& example, const Centring& centring) noexcept {
  if (!on()) return;
  version_ += unlearned_.size();
  unlearned_.clear();
  new_sources_ = 0;
  for (std::size_t i = 0; i < given_count_; ++i) note_given(given_[i]);
  for (Recipe& recipe : recipes_) {
    if (recipe.kind->keeps_past()) remember(recipe, example, centring);
  }
  const bool known = centring.knows_centres() || example.read.empty();
  for (std::size_t r = 0; r < example.raw_runs(); ++r) {
    const Run run = example.runs[r];
    if (source_at_[run.group] < 0) continue;
    const auto number = static_cast<std::uint32_t>(source_at_[run.group]);
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      if (column_at_[i] == kNoColumn || is_absent(example.values[i])) continue;
      // Whether a number of the first row is the centre is not known.
      if (!known && is_number(example.read[i])) continue;
      TrackedColumn& column = sources_[number].columns[column_at_[i]];
      const bool ready = column.stats.ready();
      const bool changed = column.stats.observe(example.as_read(i));
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

// Stores the values of an example in the past. A column that it does not have counts as its centre.
void Derivation::remember(Recipe& recipe, const Example& example,
                          const Centring& centring) noexcept {
  if (recipe.source == kLabel) {
    now_[0] = has_label_origin_ ? beyond(example.target, label_origin_) : example.label;
  } else {
    std::fill_n(now_.begin(), recipe.bases.size(), 0.0F);
    const std::int32_t at = centring.on() ? source_at_[recipe.source] : -1;
    for (std::size_t i = 0; at >= 0 && i < recipe.bases.size(); ++i) {
      const TrackedColumn& column = sources_[static_cast<std::size_t>(at)].columns[i];
      now_[i] = static_cast<float>(centring.of(recipe.source, column.hash).centre);
    }
    for (std::size_t r = 0; r < example.raw_runs(); ++r) {
      const Run run = example.runs[r];
      for (std::uint32_t i = run.begin; run.group == recipe.source && i < run.end; ++i) {
        const bool there = !is_absent(example.values[i]);
        if (column_at_[i] >= recipe.bases.size() || !there) continue;
        now_[column_at_[i]] = static_cast<float>(example.as_read(i));
      }
    }
  }
  recipe.kind->remember(recipe, now_.data());
  ++recipe.clock;
}

// What is remembered moves along.
void Derivation::move_label_origin(double origin) noexcept {
  for (Recipe& recipe : recipes_) {
    if (recipe.source != kLabel || !has_label_origin_) continue;
    std::vector<float>& past = recipe.bases[0].past;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(past.size(), recipe.clock));
    for (std::size_t i = 0; i < count; ++i) {
      past[i] = beyond(static_cast<double>(past[i]) + label_origin_, origin);
    }
  }
  has_label_origin_ = true;
  label_origin_ = origin;
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
    const std::vector<std::string> names = recipe.kind->names(name, recipe.bases[i]);
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
  update_bases();
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

std::uint32_t Derivation::code_of(std::uint32_t group, std::uint32_t hash) const noexcept {
  const Recipe& recipe = recipes_[static_cast<std::size_t>(by_group_[group])];
  for (std::size_t i = 0; i < recipe.bases.size(); ++i) {
    const Basis& basis = recipe.bases[i];
    if (!basis.ready) continue;
    const std::uint32_t place = first_place(basis.hashes, hash);
    if (place == basis.hashes.size()) continue;
    std::uint32_t column = 0;  // the label
    if (recipe.source != kLabel) {
      column = sources_[static_cast<std::size_t>(source_at_[recipe.source])].columns[i].hash;
    }
    return column + place;
  }
  return hash;
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
