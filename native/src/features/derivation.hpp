// Derived groups: features that are made from those of a raw group, once for all models.
//
// What must be known of a column (its knots, its values, its past) comes from examples that were
// learned before, never from the one at hand. Expressions keep the order of chacha/features/derivation.py,
// so the bits are the same.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "features/column_stats.hpp"
#include "data/example.hpp"

namespace chacha {

enum class Kind { kBins, kLog, kOneHot, kCyclic, kLag, kEwma, kGiven };

constexpr std::size_t kMostColumns = 256;      // of a group
constexpr std::size_t kMostTracked = 4096;     // of all groups
constexpr std::uint32_t kLabel = 0xffffffffU;  // as a source: the label, not a group
constexpr std::uint32_t kNoColumn = 0xffffffffU;

inline bool keeps_past(Kind kind) { return kind == Kind::kLag || kind == Kind::kEwma; }
// Features that one of a raw group gives, at most.
inline std::size_t made_of_one(Kind kind) { return kind == Kind::kBins || kind == Kind::kCyclic ? 2 : 1; }

// Who knows the names of features; asked once for a column.
class Names {
 public:
  virtual ~Names() = default;
  virtual std::string name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const = 0;
};

class Derivation {
 public:
  explicit Derivation(Groups& groups) : groups_(groups) {}

  // From now on columns are looked at; `first`: the values that their knots are made of.
  void turn_on(std::size_t first);
  bool on() const { return first_ > 0; }

  // Makes a derived group known. `source` is the number of a group, or kLabel.
  void add(std::uint32_t group, Kind kind, std::uint32_t source, double parameter);
  bool knows(std::uint32_t group) const { return group < by_group_.size() && by_group_[group] >= 0; }
  // Whether a derived group begins with it.
  bool has_letter(unsigned char letter) const { return letters_[letter]; }
  // The groups that are made for every example: those of live models. May throw, and the second
  // half does not.
  using Needed = std::vector<std::uint32_t>;
  Needed find_needed(const std::vector<std::uint32_t>& groups) const;
  void need(Needed needed) noexcept { needed_ = std::move(needed); }

  // Takes derived groups out of an example that has some itself: they are used as they are, and
  // only by models that have them. Comes before the example is settled.
  void set_apart(Example& example);
  bool sets_apart(std::uint32_t group) const { return on() && knows(group); }
  bool has_given() const { return given_count_ > 0; }
  // The same feature by feature, for groups that are not part of the example.
  bool gives(std::uint32_t group);
  void clear_given() { given_count_ = 0; }
  void give(std::uint32_t group, std::uint32_t hash, float value);
  // Puts the derived groups of an example behind its own, sorted by name. May throw, and changes
  // nothing that can be seen. `learning`: makes room, so that `more` and `observe` cannot fail.
  void derive(Example& example, bool learning, const Names& names);
  // The run of one more group, for the screen. Needs derive(example, true).
  Run more(Example& example, std::uint32_t group) noexcept;
  // Takes in an example. Needs derive(example, true).
  void observe(const Example& example) noexcept;

  // The features of a derived group of an example, by name. Needs derive.
  std::vector<std::pair<std::string, float>> named(Example& example, std::uint32_t group);

  struct Seen {
    std::uint32_t group;
    const std::string* name;
    const ColumnStats* stats;
  };
  std::vector<Seen> columns() const;
  const std::vector<std::uint32_t>& brought() const { return brought_; }
  // What the columns give in a derived group: names, knots or values, the past; their hashes.
  struct Shown {
    std::string name;
    std::vector<float> at, past;
    std::uint32_t hash;
  };
  std::vector<Shown> bases(std::uint32_t group);
  std::uint64_t clock(std::uint32_t group) const;
  // Changes when a column becomes ready, or a new one shows up.
  std::uint64_t version() const { return version_; }
  std::size_t bytes() const;

 private:
  struct Tracked {
    std::uint32_t hash;
    bool changed;  // since its bases were made
    std::string name;
    ColumnStats stats;
  };
  struct Source {  // a raw group
    std::uint32_t group;
    std::vector<Tracked> columns;
    std::vector<std::uint32_t> table;  // open addressing over the hashes; 0: free
  };
  struct Basis {  // what a column gives in a derived group
    bool made = false;
    std::vector<float> at;              // knots, or values
    std::vector<std::uint32_t> hashes;  // of the features
    std::vector<float> past;            // of lags a ring, of ewma the mean
  };
  struct Turn {  // of a circle
    float x, sine, cosine;
  };
  struct Recipe {
    Kind kind;
    std::uint32_t group;
    std::uint32_t source;
    double parameter;
    std::uint64_t clock = 0;  // examples learned
    std::vector<Basis> bases;  // by column; the label is the only one
    std::vector<Turn> turns;   // of cyclic: those that were looked up
  };
  struct Given {
    std::uint32_t group;
    std::vector<std::uint32_t> hashes;
    std::vector<float> values;
  };
  struct Where {  // a group has runs in an example
    std::uint64_t example = 0;
    std::uint32_t first = 0, last = 0;
  };
  struct Place {  // of a column
    std::uint32_t source, column;
  };

  void notice_groups();
  Given& given_of(std::uint32_t group);
  void note_given(const Given& given) noexcept;
  void find_columns(const Example& example, bool learning, const Names& names);
  std::uint32_t find(const Source& source, std::uint32_t hash) const;
  std::uint32_t add_column(std::uint32_t number, std::uint32_t hash, const Names& names);
  void drop_unlearned() noexcept;
  void make_bases();
  void make_basis(const Recipe& recipe, const std::string& name, const ColumnStats* stats, Basis& basis) const;
  std::vector<std::string> names_of(const Recipe& recipe, const std::string& name, const Basis& basis) const;
  void reserve_more(Example& example);
  void make(Recipe& recipe, Example& example);
  void make_features(Recipe& recipe, Example& example);
  template <class Add>
  void each_feature(const Recipe& recipe, Example& example, Add add) const;
  std::uint32_t code_of(const Recipe& recipe, const Basis& basis, float x, std::uint32_t column);
  static const Turn& turn_of(Recipe& recipe, float x) noexcept;
  static void add_past(const Recipe& recipe, Example& example);
  void remember(Recipe& recipe, const Example& example) noexcept;

  Groups& groups_;
  std::size_t first_ = 0;
  std::vector<Recipe> recipes_;
  std::array<bool, 256> letters_{};      // of their groups
  std::vector<std::int32_t> by_group_;   // recipes; -1: not a derived group
  Needed needed_;                        // recipes, by the names of their groups
  std::vector<std::int32_t> source_at_;  // by group; -1: nothing is kept of it
  std::vector<std::size_t> made_of_;     // by group: features that one of it gives in all derived groups, at most
  std::size_t past_ = 0;                 // features that are made of the past, at most
  std::vector<Source> sources_;
  std::size_t tracked_ = 0;
  std::uint64_t version_ = 0;
  bool stale_ = false;          // a basis is to be made:
  std::vector<Place> changed_;  // of new columns, and of these
  std::string scratch_;         // with room for the longest name of a feature

  // The example at hand: its number, and where its groups stand.
  std::uint64_t example_ = 0;
  std::vector<Where> where_;  // by group; of another example: it has none
  // Of its raw features the group and hash, and the column.
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> column_at_;
  std::vector<float> now_;                // by column of one source
  std::vector<std::uint32_t> unlearned_;  // the sources of its new columns: they count once it is learned
  std::size_t new_sources_ = 0;
  std::vector<Given> given_;  // some more, for later use
  std::size_t given_count_ = 0;
  std::vector<std::uint32_t> brought_;  // groups of missing cells that examples had
};

}  // namespace chacha
