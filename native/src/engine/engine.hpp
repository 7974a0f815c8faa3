// The engine: all live models, the statistics and the tests, one example after the other.
// It stops where something happens; what happens then is decided elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "learner/bank.hpp"
#include "rules/contest.hpp"
#include "features/derivation.hpp"
#include "rules/bounds.hpp"
#include "rules/stream_facts.hpp"
#include "data/text_parser.hpp"
#include "rules/paper_race.hpp"
#include "rules/screen.hpp"

namespace chacha {

enum class Status {
  kFine,    // all that was given has been learned
  kDecide,  // a test fired or a lease ended after the last example
  kBegin,   // the next example shows a new group and is waited for; it is not learned yet
  kBad,     // the next row needs a second look; it is not learned
  kEnough,  // a good time to come up for air
  kOverdue, // what was to be decided after an earlier example has not been; nothing is learned
};

constexpr std::size_t kWork = std::size_t{1} << 22;  // features between two breaths

// What is waited for before an example is learned.
enum class Wait { kNothing, kNewGroup, kNextExample };

// What a ticket holds: raw predictions made earlier.
struct Forecast {
  std::vector<std::pair<std::uint32_t, double>> raw;  // of the models that are still the same
  double served;
  double alone;
};

// What was served, example by example.
struct Record {
  bool wanted = false;
  bool tags_wanted = false;
  std::vector<double> predictions, labels;
  std::vector<std::uint32_t> served_by;  // the model
  std::vector<std::uint32_t> others;     // in a contest: the model that was blended in,
  std::vector<double> shares;            // and its share
  std::vector<std::string> tags;
  void clear();
  void reserve(std::size_t more);
};

struct Progress {
  Status status;
  std::size_t at;        // where to go on: a byte of the text, or a row
  std::size_t examples;  // learned
};

// One column of a table: a number for every row, or one of some cells, each with its features.
struct Column {
  std::string name;  // of numbers
  std::uint32_t hash = 0;
  const float* numbers = nullptr;          // NaN: missing
  const double* doubles = nullptr;         // the same; each counts as the nearest float
  const std::int64_t* longs = nullptr;
  const std::int32_t* integers = nullptr;
  const std::int32_t* cell_of = nullptr;   // by row; -1: missing
  std::vector<std::uint32_t> starts;       // of the cells' features, and the end
  std::vector<std::uint32_t> hashes;
  std::vector<float> values;
  std::vector<std::uint32_t> missing_hashes;  // what an empty cell gives
  std::vector<float> missing_values;

  bool has_numbers() const { return cell_of == nullptr; }
  // Numbers of some rows, one behind the other.
  void copy(std::size_t row, std::size_t count, float* out) const;
  // The features of a cell, or of an empty one.
  void append_cell(std::size_t row, Example& example) const;
};

struct ColumnBlock : Names {
  std::string name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const override;
  const Names* cells = nullptr;   // who knows the names of the features of cells, in the row at hand
  mutable std::size_t row = 0;    // which one that is

  struct Part {
    std::uint32_t group;
    std::vector<Column> columns;
  };
  std::vector<Part> parts;
  std::size_t rows = 0;
  const float* labels = nullptr;
  const float* weights = nullptr;  // null: all 1
};

class Engine {
 public:
  Engine(int observed_bits, const Kernel* kernel);
  Engine(const Engine&) = delete;  // its banks know where its groups are
  Engine& operator=(const Engine&) = delete;

  // Models. A number stays a model's until it is stopped. `damping` is of copies: see Bank::start.
  std::uint32_t start(int bits, const Options& options, const std::vector<std::vector<std::string>>& products,
                      int from = -1, float damping = 0.0F);
  // From now on a copy learns undamped.
  void settle(std::uint32_t model) { live(model).bank->undamp(live(model).lane); }
  void stop(std::uint32_t model);
  Dump dump(std::uint32_t model) const { return live(model).bank->dump(live(model).lane); }
  void load(std::uint32_t model, const Dump& weights) { live(model).bank->load(live(model).lane, weights); }
  ModelState state(std::uint32_t model) const { return live(model).bank->state(live(model).lane); }
  void set_state(std::uint32_t model, const ModelState& state) {
    live(model).bank->set_state(live(model).lane, state);
  }

  // Predicting and learning without statistics. `raw(model)` holds the predictions then. A line must
  // stay where it is until it is learned.
  bool parse(std::string_view line) { return parse_into(line); }
  // The example that was put into `example()` by hand; `names` knows those of its features.
  void settle(const Names& names);

  // Derived groups. `first`: how many values the knots of a column are made of.
  void turn_on_derivation(std::size_t first);
  void add_derived(const std::string& name, Kind kind, const std::string& source, double parameter);
  Derivation& derivation() { return derivation_; }
  // The features of derived groups of the example at hand, by name.
  using NamedFeatures = std::vector<std::pair<std::string, float>>;
  std::vector<NamedFeatures> derived_features(const std::vector<std::string>& groups);
  void predict();
  void learn();
  double raw(std::uint32_t model) const { return live(model).raw; }

  // Statistics. `contenders`: the champion first, then B.
  void set_rules(const ServedLoss& loss, const SampleComplexity& evidence);
  // `restless`: something is to be decided after the next example, whatever happens.
  void set_contenders(std::vector<Contender> contenders, std::uint32_t incumbent, std::int64_t challengers,
                      bool restless);
  // A contest instead of a race: paired evidence, blended predictions, a screen.
  void set_contest_rules(const ServedLoss& loss, const PairedRules& rules, const BlendRules& blending, double share,
                         double rate);
  void set_contest(std::uint32_t champion, std::vector<Challenger> challengers, const Serving& serving, double level,
                   std::int64_t charged, bool restless);
  const Contest& contest() const { return contest_; }
  Screen& screen() { return screen_; }
  // What is served, of what all models predicted last.
  double served_now() const;
  // Distinct features are counted at so many bits; to be set before the first example.
  void set_observed_bits(int bits) { observed_ = Observed(bits); }
  // What was to be decided has been, and changed nothing.
  void decided() { due_ = false; }
  void set_baseline(std::uint32_t model) {
    live(model);
    baseline_ = static_cast<int>(model);
  }
  void wait_for(Wait what) { waiting_ = what; }

  // Makes the label of `example()` what the loss takes; false if it cannot.
  bool take_label();
  // One example that stands in `example()`.
  Status step(const Forecast* forecast = nullptr);
  // Takes in groups and features without learning.
  void observe();
  Progress advance_text(std::string_view text, std::size_t at, bool last, std::size_t limit);
  Progress advance_columns(const ColumnBlock& block, std::size_t row, std::size_t end, std::size_t limit);

  // For measuring: parses all lines (depth 0), finds places too (1), learns too (2), without the
  // statistics. Returns how many lines there were.
  std::size_t pass_over(std::string_view text, int depth);

  Example& example() { return example_; }
  Record& record() { return record_; }
  Groups& groups() { return groups_; }
  const Observed& observed() const { return observed_; }
  Standing standing(std::uint32_t model) const;
  const Standing& served() const { return served_; }
  const Standing& alone() const { return alone_; }
  double first_metric() const { return metrics_[0]; }
  double second_metric() const { return metrics_[1]; }
  std::int64_t t() const { return t_; }
  std::uint32_t incumbent() const { return incumbent_; }
  double served_raw() const { return served_raw_; }
  double served_loss() const { return served_loss_; }
  const ServedLoss& loss() const { return loss_; }
  std::size_t bytes() const;
  const Kernel* kernel() const { return kernel_; }

 private:
  struct Model {
    Bank* bank = nullptr;
    std::uint32_t lane = 0;
    std::vector<GroupList> products;  // groups in the order of the configuration
    Standing standing;  // unless it takes part in the race, which keeps it then
    double raw = 0.0;
  };

  // The model of that number; throws if there is none.
  const Model& live(std::uint32_t model) const;
  Model& live(std::uint32_t model) { return const_cast<Model&>(static_cast<const Engine*>(this)->live(model)); }
  void drop_empty_banks() noexcept;
  Derivation::Needed find_needed(const Model& started, std::size_t stopped) const;
  bool parse_into(std::string_view line);
  void cut_tile(const ColumnBlock& block, std::size_t row, std::size_t end);
  void look_at(const ColumnBlock& block);
  void put_in_order();
  bool read_row(const ColumnBlock& block, std::size_t row);
  bool read_numbers(std::size_t row, bool keep);
  bool read_cells(std::size_t row, bool keep);
  void give_cells(std::size_t row);
  void expand();
  struct Single {
    std::uint32_t hash;
    float value;
    bool several;  // there are more
  };
  Single single(std::uint32_t number, float value, std::size_t row) const;
  bool too_many_holes() const;
  std::size_t hole(std::uint32_t column, bool kept) const;
  void know_columns() noexcept;
  bool refill_row(const ColumnBlock& block, std::size_t row);
  bool refill_numbers(std::size_t row);
  bool refill_cells(std::size_t row);
  Bank& bank_of(int bits);
  void learn_all() noexcept;
  void charge(const Forecast* forecast) noexcept;
  void charge_contest(const Forecast* forecast, double y, double weight) noexcept;
  bool decide() noexcept;
  void count_features() noexcept;
  Status recorded_step();
  static Progress stopped(std::size_t at, std::size_t examples);

  const Kernel* kernel_;
  Groups groups_;
  Derivation derivation_{groups_};
  const Names* names_ = &text_names_;  // of the features of the example at hand
  TextNames text_names_;
  Observed observed_;
  std::vector<std::unique_ptr<Bank>> banks_;
  std::vector<Model> models_;
  std::vector<std::vector<float>> by_lane_;  // predictions, per bank

  ServedLoss loss_;
  SampleComplexity evidence_;
  Race race_;
  bool contested_ = false;  // there is a contest, not a race
  Contest contest_;
  Screen screen_;
  std::uint32_t incumbent_ = 0;
  int baseline_ = -1;
  Wait waiting_ = Wait::kNothing;
  bool due_ = false;  // something is to be decided

  std::int64_t t_ = 0;
  Standing served_, alone_;
  double metrics_[2] = {0.0, 0.0};
  double served_raw_ = 0.0;
  double served_loss_ = 0.0;
  std::uint64_t observed_expansion_ = 0;

  // Some rows of a block of columns: column by column is how the memory likes to be read.
  struct OwnPart {
    const ColumnBlock::Part* part;
    std::uint32_t begin;  // the number of its first column
  };
  enum class Firm : char { kNo, kNoHole, kLeads };  // whether a column must have a feature: if it is kept, or anyway
  struct Tile {
    const ColumnBlock* block = nullptr;
    std::vector<OwnPart> own;                       // groups of all models, as they stand,
    std::vector<OwnPart> in_order;                  // and as they are where each has a feature
    std::vector<const ColumnBlock::Part*> beside;  // groups of some models
    std::vector<const Column*> columns;            // of its own groups
    std::size_t row = 0, rows = 0;
    Pod<float> numbers;
    bool grid = false;  // every column is of numbers, groups of one letter are neighbours
    std::vector<Bank::TablePart> parts;
    std::uint64_t number = 0;      // of the parts
    std::vector<char> known;       // by column: it had a feature in a row that was learned
    std::vector<std::uint32_t> hash_of;  // the last one
    std::vector<Firm> firm;
    // The row at hand.
    std::vector<std::uint32_t> kept, rest;  // columns with a feature, and without one
    std::size_t holes = 0;                  // of those that are kept: there is no feature after all
    std::size_t read_from = 0;              // the row from which on columns keep their places again
    std::size_t pause = 0;                  // rows that are read as they are, the next time that there are too many holes
    std::vector<std::uint32_t> empty;       // groups without a feature in it
    bool fresh = false;   // it was read from the beginning
    bool filled = false;  // `example_` holds a row with one feature of every column that is kept
    bool again = false;   // it has the features of the row before, which was learned; values differ
  };
  Tile tile_;

  Example example_;
  std::vector<std::uint32_t> empty_;
  Record record_;
};

}  // namespace chacha
