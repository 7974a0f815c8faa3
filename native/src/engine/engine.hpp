// The engine: all live models, the statistics and the tests, one example after the other.
// It returns when a decision is due; the decision itself is made by the caller.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/column_block.hpp"
#include "data/text_parser.hpp"
#include "engine/first_rows.hpp"
#include "engine/model_lanes.hpp"
#include "engine/row_reader.hpp"
#include "features/centring.hpp"
#include "features/derivation.hpp"
#include "learner/model.hpp"
#include "rules/best_constant.hpp"
#include "rules/champion.hpp"
#include "rules/contest.hpp"
#include "rules/label_reach.hpp"
#include "rules/progressive_loss.hpp"
#include "rules/recent_labels.hpp"
#include "rules/screen.hpp"
#include "rules/served_loss.hpp"
#include "rules/stream_facts.hpp"

namespace chacha {

// Why the engine returned. The numbers are those of Status in src/chacha/drivers/native.py.
enum class Status {
  kFine,     // everything given was learned
  kDecide,   // a test fired or a lease ended after the last example
  kBegin,    // a new group has come, for which the caller waits; the next example was not learned
  kBad,      // the next row needs a closer look by the caller; it was not learned
  kPaused,   // a call's share of work is done: the caller may check for signals, and go on
  kOverdue,  // a decision that was due after an earlier example is missing; nothing was learned
};

constexpr std::size_t kWorkPerCall = std::size_t{1} << 22;  // features, before a call pauses

// What makes the engine return before an example is learned.
enum class Wait { kNothing, kNewGroup, kNextExample };

// Raw predictions that were made earlier, for an example whose label comes late.
struct Forecast {
  std::vector<std::pair<std::uint32_t, double>> raw;  // by model, of those that still live
  double served;
  double baseline;
  double constant = 0.0;  // see BestConstant
};

// What was served, example by example.
struct Record {
  bool wanted = false;
  bool tags_wanted = false;
  std::vector<double> predictions, labels;
  std::vector<std::uint32_t> served_by;  // model
  std::vector<std::uint32_t> others;     // in a contest: the model that was blended in,
  std::vector<double> shares;            // and its share
  std::vector<std::string> tags;
  void clear();
  void reserve(std::size_t more);
  std::size_t bytes() const;  // beside the object itself
};

// How far a text or a block of columns was learned.
struct BlockProgress {
  Status status;
  std::size_t at;        // where to go on: a byte of the text, or a row
  std::size_t examples;  // learned
};

class Engine {
 public:
  Engine(int observed_bits, const Kernel* kernel);
  Engine(const Engine&) = delete;  // its banks point to its groups
  Engine& operator=(const Engine&) = delete;

  // Models. A model keeps its number until it is stopped. For `damping` see Bank::start.
  std::uint32_t start(int bits, const Options& options,
                      const std::vector<std::vector<std::string>>& products, int from = -1,
                      float damping = 0.0F);
  // From now on a copy learns undamped.
  void undamp(std::uint32_t model) { lanes_.bank(model).undamp(lanes_.lane(model)); }
  void stop(std::uint32_t model);
  Dump dump(std::uint32_t model) const { return lanes_.bank(model).dump(lanes_.lane(model)); }
  void load(std::uint32_t model, const Dump& weights) {
    lanes_.bank(model).load(lanes_.lane(model), weights);
  }
  ModelState state(std::uint32_t model) const {
    return lanes_.bank(model).state(lanes_.lane(model));
  }
  void set_state(std::uint32_t model, const ModelState& state) {
    lanes_.bank(model).set_state(lanes_.lane(model), state);
  }
  // All models have numbers below this one.
  std::uint32_t number_limit() const { return static_cast<std::uint32_t>(models_.size()); }
  // See ModelLanes::incarnation; 0 if no model has that number now.
  std::uint64_t incarnation(std::uint32_t model) const {
    return lanes_.is_live(model) ? lanes_.incarnation(model) : 0;
  }

  // The current example. A line that is parsed must stay in memory until it is learned.
  Example& example() { return example_; }
  bool parse(std::string_view line);
  // The same for a row of a table or a dict, and the numbers of its cells.
  bool parse_row(std::string_view line, const std::vector<NumberCell>& cells, const Names& names);
  // Completes an example that was written to `example()`; `names` knows its features.
  void order_runs(const Names& names);
  // Converts the label to what the loss expects; false if it cannot.
  bool take_label();

  // Predicts or learns the current example without statistics; `raw(model)` is the prediction.
  void predict();
  void learn();
  double raw(std::uint32_t model) const {
    lanes_.check_live(model);
    return lanes_.raw(model);
  }

  // Derived groups. `first`: the number of values that the knots of a column are made of.
  void turn_on_derivation(std::size_t first);
  void add_derived(const std::string& name, const std::string& kind, const std::string& source,
                   double parameter);
  Derivation& derivation() { return derivation_; }
  // The features of derived groups of the current example, by name.
  using NamedFeatures = std::vector<std::pair<std::string, float>>;
  std::vector<NamedFeatures> derived_features(const std::vector<std::string>& groups);

  // From now on models learn labels in units of their scale, which the first `rows` examples show.
  // To be called before the first example. For losses whose labels have a scale.
  void scale_labels(std::size_t rows);
  // Models that start empty from now on learn labels on the scale of the last ones.
  // `log`: they learn the logarithms of labels.
  void renew_scale(std::size_t last, bool log);
  // Whether a few of the last labels are much larger than the others.
  bool has_skewed_labels() const { return first_rows_ == nullptr && labels_.skewed(); }
  // Whether the last labels spread much more than in the scale of a model.
  bool beyond_scale(std::uint32_t model) const {
    const LabelMap& map = label_map(model);
    return first_rows_ == nullptr && map.scaled && labels_.beyond(map);
  }
  // Numeric columns are centred, too.
  Centring& centring() { return centring_; }
  const LabelMap& label_map(std::uint32_t model) const {
    lanes_.check_live(model);
    return lanes_.map(model);
  }
  // Whether labels are scaled, and an example that was learned brought an initial prediction.
  bool has_bases() const { return has_bases_; }

  // The paper's rules. `contenders`: the champion first, then B. `decide_anyway`: a decision is due
  // after the next example, whether or not a test fires.
  void set_rules(const ServedLoss& loss, const SampleComplexity& evidence);
  void set_contenders(std::vector<Contender> contenders, std::uint32_t incumbent,
                      std::int64_t challengers, bool decide_anyway);
  // The recommended rules: paired tests, blended predictions, a screen.
  void set_contest_rules(const ServedLoss& loss, PairedBetting rules, const Blending& blending,
                         double share, double rate);
  void set_contest(ContestState state);
  const Contest& contest() const { return contest_; }
  // Whether the next example may fill a block, which is when a test is called.
  bool calls_test() const { return first_rows_ != nullptr || contest_.block_ends(); }
  Screen& screen() { return screen_; }
  // The prediction that is served, from what all models predicted last.
  double served_now() const;
  // Distinct features are counted by hashes of `bits` bits; to be set before the first example.
  void set_observed_bits(int bits) { observed_ = ObservedStream(bits); }
  void set_baseline(std::uint32_t model) {
    lanes_.check_live(model);
    baseline_ = static_cast<int>(model);
  }
  int baseline() const { return baseline_; }  // model, or -1
  void wait_for(Wait what) {
    waiting_ = what;
    begin_due_ = false;
  }

  // Predicts, charges and learns the current example.
  Status step(const Forecast* forecast = nullptr);
  // Counts the groups and features of the current example without learning it.
  void observe();
  BlockProgress advance_text(std::string_view text, std::size_t at, bool last, std::size_t limit);
  BlockProgress advance_columns(const ColumnBlock& block, std::size_t row, std::size_t end,
                                std::size_t limit);

  Record& record() { return record_; }
  Groups& groups() { return groups_; }
  const ObservedStream& observed() const { return observed_; }
  ProgressiveLoss standing(std::uint32_t model) const;
  const RunningLoss& served() const { return served_; }
  const ProgressiveLoss& baseline_standing() const { return baseline_standing_; }
  // Of the best constant for the labels so far; never charged if the loss has none.
  const ProgressiveLoss& constant_standing() const { return constant_standing_; }
  // From the second label on, when it is known: its losses, those of what was served, and those of
  // the baseline.
  const ProgressiveLoss& known_constant() const { return known_constant_; }
  const ProgressiveLoss& served_beside_constant() const { return served_beside_constant_; }
  const ProgressiveLoss& baseline_beside_constant() const { return baseline_beside_constant_; }
  // The best constant, raw; not a number before the first label, and if the loss has none.
  double constant() const {
    return loss_.has_constant() && constant_.weight > 0 ? constant_.raw(loss_) : std::nan("");
  }
  double first_metric() const { return metrics_[0]; }
  double second_metric() const { return metrics_[1]; }
  std::int64_t t() const { return t_; }
  bool decision_due() const { return due_; }  // after the last example
  std::uint32_t incumbent() const { return incumbent_; }
  double served_raw() const { return served_raw_; }
  double served_loss() const { return served_loss_; }
  const ServedLoss& loss() const { return loss_; }
  std::size_t bytes() const;
  const Kernel* kernel() const { return kernel_; }

 private:
  // What the rules need to know of a model.
  struct Model {
    std::vector<GroupList> products;  // groups in the order of the configuration
    ProgressiveLoss standing;         // while it is not a contender; then race_ has it
  };
  static constexpr std::size_t kNoModel = static_cast<std::size_t>(-1);

  Derivation::Needed find_needed(const std::vector<GroupList>& started, std::size_t stopped) const;
  void expand();
  // The label in the units in which losses are counted.
  double label_of(const Example& example) const {
    return scaled_ ? example.target : static_cast<double>(example.label);
  }
  // Models learn what the label adds to an initial prediction that came with the example.
  void take_base() {
    if (!scaled_) return;
    example_.base += static_cast<double>(example_.initial);
    example_.initial = 0.0F;
  }
  void charge(double y, const Forecast* forecast) noexcept;
  void charge_contest(Example& example, const Forecast* forecast, bool derives,
                      double served) noexcept;
  void cut_label(Example& example) noexcept;
  bool is_first_row() const;
  double left_to_learn() const { return example_.target - example_.base; }
  void observe_label() noexcept;
  LabelMap map_of_labels(std::size_t last, bool log) const;
  void centre_example();
  void keep_first_row() noexcept;
  void begin_again();
  void catch_up();
  bool decide() noexcept;
  void count_features() noexcept;
  Status recorded_step();
  bool read_row(const ColumnBlock& block, std::size_t row, std::size_t end);
  std::size_t work_of_example() const {
    return lanes_.banks().front()->features() + example_.hashes.size() + 16;
  }
  static BlockProgress progress_after_failure(std::size_t at, std::size_t examples);

  const Kernel* kernel_;
  Groups groups_;
  Derivation derivation_{groups_};
  Centring centring_;
  RowReader rows_{groups_, derivation_, centring_};
  const Names* names_ = &text_names_;  // of the features of the current example
  TextNames text_names_;
  ObservedStream observed_;
  ModelLanes lanes_;
  std::vector<Model> models_;  // by number

  ServedLoss loss_;
  SampleComplexity evidence_;
  ChampionChallengers race_;
  bool contested_ = false;  // whether contest_ decides, and not race_
  Contest contest_;
  Screen screen_;
  std::uint32_t incumbent_ = 0;
  int baseline_ = -1;  // model
  Wait waiting_ = Wait::kNothing;
  bool begin_due_ = false;  // a new group has come since `wait_for`
  bool due_ = false;        // a decision is

  bool scaled_ = false;  // whether labels are
  LabelMap map_;         // of a model that starts empty
  bool has_bases_ = false;
  RecentLabels labels_;
  LabelReach reach_;
  double step_loss_ = std::nan("");        // of the label before the last as a prediction
  std::unique_ptr<FirstRows> first_rows_;  // as long as they are kept
  bool again_due_ = false;                 // the first rows are to be learned again

  std::int64_t t_ = 0;
  BestConstant constant_;
  RunningLoss served_;
  ProgressiveLoss baseline_standing_, constant_standing_;
  ProgressiveLoss known_constant_, served_beside_constant_, baseline_beside_constant_;
  double metrics_[2] = {0.0, 0.0};
  double served_raw_ = 0.0;
  double served_loss_ = 0.0;
  std::uint64_t observed_expansion_ = 0;

  Example example_;
  std::vector<std::uint32_t> empty_;  // groups of the current example without a feature
  Record record_;
};

}  // namespace chacha
