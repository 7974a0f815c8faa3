// Derived groups: features made from those of a raw group, once for all models.
// Twin: src/chacha/features/derivation.py; expressions keep its order, so the bits are the same.
//
// The knots, the values and the past of a column come from examples that were learned before, never
// from the current one.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/example.hpp"
#include "data/groups.hpp"
#include "data/names.hpp"
#include "features/centring.hpp"
#include "features/column_stats.hpp"
#include "features/derived_kinds.hpp"

namespace chacha {

constexpr std::size_t kMostColumns = 256;      // of a group
constexpr std::size_t kMostTracked = 4096;     // of all groups
constexpr std::uint32_t kLabel = 0xffffffffU;  // as a source: the label instead of a group
constexpr std::uint32_t kNoColumn = 0xffffffffU;

class Derivation {
 public:
  explicit Derivation(Groups& groups) : groups_(groups) {}

  // From now on columns are tracked; `first`: the number of values that their knots are made of.
  void turn_on(std::size_t first);
  bool on() const { return first_ > 0; }

  // Adds a derived group. `source` is the number of a group, or kLabel.
  void add(std::uint32_t group, const DerivedKind& kind, std::uint32_t source, double parameter);
  bool is_derived(std::uint32_t group) const {
    return group < by_group_.size() && by_group_[group] >= 0;
  }
  // Whether the name of a derived group begins with the letter.
  bool has_letter(unsigned char letter) const { return letters_[letter]; }
  // The derived groups among some groups, and those to make for every example. In two calls,
  // because the first may throw and the second does not.
  using Needed = std::vector<std::uint32_t>;
  Needed find_needed(const std::vector<std::uint32_t>& groups) const;
  void need(Needed needed) noexcept { needed_ = std::move(needed); }

  // Given groups: derived groups that come with the example. They are used as they are, and only by
  // models that have them. `set_apart` takes them out of an example, before Example::order_runs.
  void set_apart(Example& example);
  bool sets_apart(std::uint32_t group) const { return on() && is_derived(group); }
  bool has_given() const { return given_count_ > 0; }
  // The same feature by feature, for groups that are not part of the example.
  bool accepts_given(std::uint32_t group);
  void clear_given() { given_count_ = 0; }
  void add_given(std::uint32_t group, std::uint32_t hash, float value);
  // Makes the bases of columns that have changed, as `derive` does. May throw.
  void update_bases() {
    if (stale_) make_bases();
  }
  // Appends the needed groups to an example, sorted by name. May throw, and has no visible effect
  // then. `learning`: makes room, so that `derive_group` and `observe` cannot fail.
  void derive(Example& example, bool learning, const Names& names);
  // Appends one more group, for the screen. Needs derive(example, true).
  Run derive_group(Example& example, std::uint32_t group) noexcept;
  // Updates the statistics and the past. Needs derive(example, true).
  // `centring`: a column that is not in the example has the number of its centre, otherwise 0.
  void observe(const Example& example, const Centring& centring = Centring()) noexcept;

  // Groups of the label are made of what labels are beyond an origin, once there is one.
  void move_label_origin(double origin) noexcept;
  bool has_label_origin() const { return has_label_origin_; }
  double label_origin() const { return label_origin_; }

  // The features of a derived group of an example, by name. Needs derive.
  std::vector<std::pair<std::string, float>> named_features(Example& example, std::uint32_t group);

  struct ColumnView {
    std::uint32_t group;
    const std::string* name;
    const ColumnStats* stats;
  };
  std::vector<ColumnView> columns() const;
  // Groups of missing cells that learned examples had.
  const std::vector<std::uint32_t>& missing_groups() const { return missing_groups_; }
  // The columns of a derived group: names, knots or values, the past, hashes.
  struct BasisView {
    std::string name;
    std::vector<double> at;
    std::vector<float> past;
    std::uint32_t hash;
  };
  std::vector<BasisView> bases(std::uint32_t group);
  // A number for a feature of a derived group that depends on its column and its place there, not
  // on the numbers in its name; the hash of one that has no place.
  std::uint32_t code_of(std::uint32_t group, std::uint32_t hash) const noexcept;
  std::uint64_t clock(std::uint32_t group) const;
  // Changes when a column becomes ready or a new one appears.
  std::uint64_t version() const { return version_; }
  std::size_t bytes() const;

 private:
  struct Source {  // a raw group
    std::uint32_t group;
    std::vector<TrackedColumn> columns;
    std::vector<std::uint32_t> table;  // open addressing by hash: 1 + the column; 0: free
  };
  struct Given {  // a given group
    std::uint32_t group;
    std::vector<std::uint32_t> hashes;
    std::vector<float> values;
  };
  struct RunRange {  // the runs of a group in an example
    std::uint64_t example = 0;
    std::uint32_t first = 0, last = 0;
  };
  struct ColumnPlace {
    std::uint32_t source, column;
  };

  void notice_groups();
  Given& given_of(std::uint32_t group);
  void note_given(const Given& given) noexcept;
  std::size_t find_columns(const Example& example, bool learning, const Names& names);
  std::uint32_t find(const Source& source, std::uint32_t hash) const;
  static void grow_table(Source& source);
  void make_room_for_columns(std::size_t most);
  std::uint32_t add_column(std::uint32_t number, std::uint32_t hash, const Names& names);
  void drop_unlearned() noexcept;
  void make_bases();
  static void make_basis(const Recipe& recipe, const std::string& name, const ColumnStats* stats,
                         Basis& basis);
  void reserve_more(Example& example);
  void make(Recipe& recipe, Example& example);
  SourceFeatures source_features(std::uint32_t group);
  void remember(Recipe& recipe, const Example& example, const Centring& centring) noexcept;

  Groups& groups_;
  std::size_t first_ = 0;
  std::vector<Recipe> recipes_;
  std::bitset<256> letters_;             // of derived groups
  std::vector<std::int32_t> by_group_;   // recipe by group; -1: not derived
  Needed needed_;                        // recipes, sorted by the names of their groups
  std::vector<std::int32_t> source_at_;  // source by group; -1: no column is tracked
  std::vector<std::size_t> made_of_;     // by group: most derived features of one feature
  std::size_t past_ = 0;                 // most features that are made of the past
  std::vector<Source> sources_;
  std::size_t tracked_ = 0;  // columns
  std::uint64_t version_ = 0;
  bool stale_ = false;                // bases must be made: those of new columns,
  std::vector<ColumnPlace> changed_;  // and those of these
  std::size_t room_ = 0;              // values that every column has room for,
  std::vector<ColumnPlace> tight_;    // but for these
  std::string scratch_;               // with room for the longest name of a feature

  // The current example.
  std::uint64_t example_ = 0;             // its number
  std::vector<RunRange> runs_;            // by group; if of another example, it has none
  std::vector<std::uint64_t> keys_;       // group and hash of each raw feature,
  std::vector<std::uint32_t> column_at_;  // and its column
  std::vector<float> now_;                // by column of one source
  bool has_label_origin_ = false;
  double label_origin_ = 0.0;
  std::vector<std::uint32_t> unlearned_;  // sources of new columns, which count once it is learned
  std::size_t new_sources_ = 0;
  std::vector<Given> given_;  // the first given_count_; the others are spare
  std::size_t given_count_ = 0;
  std::vector<std::uint32_t> missing_groups_;
};

}  // namespace chacha
