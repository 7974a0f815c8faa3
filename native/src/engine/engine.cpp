#include "engine/engine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "base/bytes.hpp"

namespace chacha {

void Record::clear() {
  predictions.clear();
  labels.clear();
  served_by.clear();
  others.clear();
  shares.clear();
  tags.clear();
}

Engine::Engine(int observed_bits, const Kernel* kernel)
    : kernel_(kernel), observed_(observed_bits), lanes_(groups_, kernel) {}

std::uint32_t Engine::start(int bits, const Options& options,
                            const std::vector<std::vector<std::string>>& products, int from,
                            float damping) {
  catch_up();
  if (bits < 1 || bits > 32) throw std::invalid_argument("a model has 1 to 32 bits");
  if (!(damping >= 0.0F && std::isfinite(damping))) {
    throw std::invalid_argument("damping is a number of at least 0");
  }
  Model model;
  for (const auto& names : products) {
    GroupList groups;
    for (const std::string& name : names) groups.push_back(groups_.number(name));
    if (groups.size() < 2 && (groups.empty() || !derivation_.is_derived(groups[0]))) {
      throw std::invalid_argument("a product has at least two groups, or is a derived one");
    }
    model.products.push_back(std::move(groups));
  }
  lanes_.check_source(bits, from);
  if (lanes_.next_number() == models_.size()) models_.emplace_back();
  Derivation::Needed needed = find_needed(model.products, kNoModel);
  const std::uint32_t number = lanes_.start(bits, options, model.products, from, damping, map_);
  // From here on nothing throws.
  models_[number] = std::move(model);
  derivation_.need(std::move(needed));
  return number;
}

// The derived groups of all live models, with one that starts, and without one that stops.
Derivation::Needed Engine::find_needed(const std::vector<GroupList>& started,
                                       std::size_t stopped) const {
  std::vector<std::uint32_t> groups;
  const auto add = [&](const std::vector<GroupList>& products) {
    for (const GroupList& product : products) {
      groups.insert(groups.end(), product.begin(), product.end());
    }
  };
  add(started);
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (i != stopped) add(models_[i].products);
  }
  return derivation_.find_needed(groups);
}

void Engine::turn_on_derivation(std::size_t first) {
  if (first < 1) throw std::invalid_argument("knots need a value");
  derivation_.turn_on(first);
}

void Engine::add_derived(const std::string& name, const std::string& kind,
                         const std::string& source, double parameter) {
  const std::uint32_t source_group = source.empty() ? kLabel : groups_.number(source);
  derivation_.add(groups_.number(name), kind_named(kind), source_group, parameter);
  derivation_.need(find_needed({}, kNoModel));  // models may already multiply it
}

std::vector<Engine::NamedFeatures> Engine::derived_features(
    const std::vector<std::string>& groups) {
  derivation_.derive(example_, false, *names_);
  std::vector<NamedFeatures> features;
  for (const std::string& name : groups) {
    features.push_back(derivation_.named_features(example_, groups_.number(name)));
  }
  return features;
}

void Engine::order_runs(const Names& names) {
  names_ = &names;
  derivation_.set_apart(example_);
  centre_example();
  example_.order_runs(groups_, empty_);
}

// Until the centres are known for good, a row is kept with all cells it was read with.
void Engine::centre_example() {
  catch_up();
  if (first_rows_ != nullptr) first_rows_->full() = example_;
  centring_.apply(example_);
}

void Engine::stop(std::uint32_t model) {
  Derivation::Needed needed = find_needed({}, model);
  const std::size_t banks = lanes_.banks().size();
  lanes_.stop(model);
  if (lanes_.banks().size() < banks) observed_expansion_ = 0;  // that of another bank may be equal
  models_[model] = Model();
  derivation_.need(std::move(needed));
  race_.forget(model);
  contest_.forget(model);
}

bool Engine::take_label() {
  if (!example_.labelled) return false;
  if (scaled_) example_.label = static_cast<float>(example_.target);  // VW's may not be the nearest
  return loss_.take_label(example_.label);
}

void Engine::scale_labels(std::size_t rows) {
  scaled_ = map_.scaled = true;
  for (std::uint32_t model = 0; model < number_limit(); ++model) {
    if (lanes_.is_live(model)) lanes_.set_map(model, map_);
  }
  first_rows_ = std::make_unique<FirstRows>(rows);
}

void Engine::predict() {
  take_base();
  catch_up();
  derivation_.derive(example_, false, *names_);
  for (const auto& bank : lanes_.banks()) bank->expand(example_, false);
  lanes_.predict(example_);
}

void Engine::learn() {
  derivation_.derive(example_, true, *names_);
  for (const auto& bank : lanes_.banks()) bank->expand(example_, true);
  lanes_.learn(example_);
  derivation_.observe(example_, centring_);
}

void Engine::set_rules(const ServedLoss& loss, const SampleComplexity& evidence) {
  loss_ = loss;
  evidence_ = evidence;
}

void Engine::set_contenders(std::vector<Contender> contenders, std::uint32_t incumbent,
                            std::int64_t challengers, bool decide_anyway) {
  lanes_.check_live(incumbent);
  for (const Contender& contender : contenders) lanes_.check_live(contender.model);
  for (std::size_t i = 0; i < race_.size(); ++i) {
    if (race_.model(i) == ChampionChallengers::kNoModel) continue;
    models_[race_.model(i)].standing = race_.standing(i);
  }
  race_.set_contenders(std::move(contenders), challengers, decide_anyway);
  for (std::size_t i = 0; i < race_.size(); ++i) {
    race_.set_standing(i, models_[race_.model(i)].standing);
  }
  incumbent_ = incumbent;
  due_ = false;
  count_features();
}

void Engine::set_contest_rules(const ServedLoss& loss, PairedBetting rules,
                               const Blending& blending, double share, double rate) {
  loss_ = loss;
  contested_ = true;
  contest_.set_rules(std::move(rules), blending);
  screen_.set_rules(share, rate);
}

void Engine::set_contest(ContestState state) {
  lanes_.check_live(state.champion);
  for (const Challenger& challenger : state.challengers) lanes_.check_live(challenger.model);
  const auto challengers = static_cast<std::int64_t>(state.challengers.size());
  if (state.serving.other < Serving::kNoChallenger || state.serving.other >= challengers) {
    throw std::out_of_range("no challenger has that place");
  }
  contest_.set_state(std::move(state));  // may run out of memory; then nothing has changed
  incumbent_ = contest_.state().champion;
  due_ = false;
}

double Engine::served_now() const {
  const double incumbent = lanes_.raw(incumbent_);
  const ContestState& contest = contest_.state();
  if (!contested_ || !contest.serving.blends()) return incumbent;
  return contest.serving.served(incumbent, lanes_.raw(contest.other().model));
}

ProgressiveLoss Engine::standing(std::uint32_t model) const {
  const std::size_t i = race_.find(model);
  if (i < race_.size()) return race_.standing(i);
  lanes_.check_live(model);
  return models_[model].standing;
}

void Engine::count_features() noexcept {
  for (std::size_t i = 0; i < race_.size(); ++i) {
    if (race_.model(i) == ChampionChallengers::kNoModel) continue;
    race_.set_complexity(i, observed_.complexity(models_[race_.model(i)].products));
  }
}

void Engine::observe() {
  observed_.prepare(example_, empty_, groups_);
  if (observed_.observe(example_, empty_, nullptr)) count_features();
}

// Finds the places of all features: in a grid of places if the example is a row of a table of
// numbers and nothing else, one by one otherwise.
void Engine::expand() {
  const bool derived = example_.has_derived();
  const bool row = rows_.is_sparse_row_of_numbers() && !derived && !derivation_.has_given();
  for (const auto& bank : lanes_.banks()) {
    if (row && bank->lay_out(rows_.table_parts(), rows_.table_number())) {
      bank->expand_row(example_, rows_.present_columns());
    } else {
      bank->expand(example_, true, rows_.repeats_features() && !derived);
    }
  }
}

Status Engine::step(const Forecast* forecast) {
  if (due_) return Status::kOverdue;
  const bool new_group = !rows_.repeats_features() && observed_.prepare(example_, empty_, groups_);
  begin_due_ = begin_due_ || new_group;
  if (waiting_ == Wait::kNextExample || (waiting_ == Wait::kNewGroup && begin_due_)) {
    observe();
    return Status::kBegin;
  }
  if (!(contested_ ? contest_.complete() : race_.complete())) {
    throw std::logic_error("a contender was stopped, or none was set");
  }
  take_base();
  catch_up();
  if (derivation_.on()) derivation_.derive(example_, true, *names_);
  if (contested_) screen_.prepare(example_, groups_.size(), contest_.live());
  expand();
  const bool first = is_first_row();
  if (first) {
    first_rows_->prepare(example_);
    centring_.prepare(first_rows_->full());
  }
  // From here on nothing throws: an example is learned as a whole, or not at all.
  Bank& bank = *lanes_.banks().front();
  const bool changed = observed_expansion_ != bank.expansion();
  observed_expansion_ = bank.expansion();
  // A bank remembers which features it has seen, if its bits distinguish all that are counted.
  Bank* memory = bank.bits() >= observed_.bits() ? &bank : nullptr;
  const bool grown = changed ? observed_.observe(example_, empty_, memory)
                             : observed_.observe_label(example_, empty_);
  if (grown) count_features();
  has_bases_ = has_bases_ || example_.base != 0.0;
  if (scaled_) observe_label();
  const double y = label_of(example_);
  if (scaled_) cut_label(example_);
  if (scaled_ && !derivation_.has_label_origin()) derivation_.move_label_origin(example_.target);
  lanes_.learn(example_);
  charge(y, forecast);
  derivation_.observe(example_, centring_);
  if (example_.weight > 0.0F) centring_.settle(example_.late);
  example_.late.clear();
  if (first) keep_first_row();
  due_ = decide();
  return due_ ? Status::kDecide : Status::kFine;
}

// Whether the example is one of those that show the scale: if all labels were equal so far, the
// first that differs.
bool Engine::is_first_row() const {
  if (first_rows_ == nullptr || !(example_.weight > 0.0F)) return false;
  return !first_rows_->is_waiting() || left_to_learn() != labels_.last();
}

// If all labels were equal when a model started, the first that differs shows the scale. The model
// has learned nothing until then.
void Engine::observe_label() noexcept {
  if (!(example_.weight > 0.0F)) return;
  const double y = left_to_learn();
  step_loss_ = labels_.count() > 0 ? loss_.loss(labels_.last(), y) : std::nan("");
  labels_.add(y);
  if (first_rows_ != nullptr) return;
  map_.find_scale(y);
  for (std::uint32_t model = 0; model < number_limit(); ++model) {
    if (lanes_.is_live(model)) lanes_.find_scale(model, y);
  }
}

// A label that is much farther away than all before is learned as if it were nearer.
void Engine::cut_label(Example& example) noexcept {
  const double y = example.target - example.base, near = reach_.cut(y);
  if (near != y) example.target = example.base + near;
  if (example.weight > 0.0F) reach_.observe(near);
}

void Engine::renew_scale(std::size_t last, bool log) {
  if (!scaled_) return;
  catch_up();
  map_ = map_of_labels(last, log);
}

// How a model learns labels, by the last ones.
LabelMap Engine::map_of_labels(std::size_t last, bool log) const {
  std::array<double, RecentLabels::kKept> labels;
  const std::size_t n = labels_.copy(std::min(last, labels.size()), labels.data());
  LabelMap map;
  map.scaled = true;
  if (n == 0) return map;
  Spread spread = spread_of(labels.data(), n);
  if (log) {
    map.log = true;
    map.corrected = loss_.kind == LossKind::kSquared;
    map.low = labels[0];
    if (spread.centre > map.low) {
      map.unit = spread.centre - map.low;
    } else if (spread.scale > 0.0) {
      map.unit = spread.scale;
    }
    for (std::size_t i = 0; i < n; ++i) labels[i] = map.mapped(labels[i]);
    spread = spread_of(labels.data(), n);
  }
  map.shift = spread.centre;
  map.scale = spread.scale;
  return map;
}

// If there is no memory to learn the first rows again, that is done before the next example.
void Engine::keep_first_row() noexcept {
  first_rows_->add();
  centring_.observe(first_rows_->full());
  if (!first_rows_->is_due()) return;
  again_due_ = true;
  try {
    begin_again();
  } catch (const std::exception&) {
  }
}

// Begins again if there was no memory for it after the last example.
void Engine::catch_up() {
  if (!again_due_) return;
  begin_again();
  contest_.decide(t_);  // which blend serves
}

// Estimates the scale of the labels and the centres of the columns anew. Then all models begin
// again, and learn the first rows.
void Engine::begin_again() {
  derivation_.update_bases();
  map_ = map_of_labels(first_rows_->size() + 1, false);  // with one from before, if they waited
  reach_.begin(map_.shift, map_.scale);
  derivation_.move_label_origin(map_.shift);
  centring_.fit();
  for (std::uint32_t model = 0; model < number_limit(); ++model) {
    if (lanes_.is_live(model)) lanes_.restart(model, map_);
  }
  contest_.begin_again();
  screen_.begin_again();
  step_loss_ = std::nan("");  // those of the first rows were charged before
  for (std::size_t i = 0; i < first_rows_->size(); ++i) {
    const FirstRows::Row& row = first_rows_->row(i);
    std::vector<std::uint32_t> empty;
    Example again = row.full;
    centring_.apply(again);
    again.order_runs(groups_, empty);
    again.append_derived(row.runs, row.hashes, row.values);
    if (contested_) screen_.prepare(again, groups_.size(), contest_.live());
    for (const auto& bank : lanes_.banks()) bank->expand(again, true);
    cut_label(again);
    lanes_.learn(again);
    if (!contested_) continue;
    charge_contest(again, nullptr, false, lanes_.raw(contest_.state().champion));
  }
  again_due_ = false;
  if (!first_rows_->is_full()) return;
  centring_.finish();
  if (map_.scale > 0.0) {
    first_rows_.reset();
  } else {
    first_rows_->wait();
  }
}

// `y`: the label as it is; the rules see that of the example.
void Engine::charge(double y, const Forecast* forecast) noexcept {
  const double weight = static_cast<double>(example_.weight);
  served_raw_ = forecast != nullptr ? forecast->served : served_now();
  served_loss_ = loss_.loss(served_raw_, y);
  served_.add(served_loss_, weight);
  const Metrics metrics = loss_.metrics(served_raw_, y, served_loss_);
  metrics_[0] += weight * metrics.first;
  metrics_[1] += weight * metrics.second;
  double baseline_loss = 0.0;
  if (baseline_ >= 0) {
    const double raw = forecast != nullptr ? forecast->baseline
                                           : lanes_.raw(static_cast<std::uint32_t>(baseline_));
    baseline_loss = loss_.loss(raw, y);
    baseline_standing_.add(baseline_loss, weight);
  }
  if (loss_.has_constant()) {
    const double raw = forecast != nullptr ? forecast->constant : constant();
    const bool known = !std::isnan(raw);
    const double constant_loss = loss_.loss(known ? raw : BestConstant().raw(loss_), y);
    constant_standing_.add(constant_loss, weight);
    if (known) {
      known_constant_.add(constant_loss, weight);
      served_beside_constant_.add(served_loss_, weight);
      if (baseline_ >= 0) baseline_beside_constant_.add(baseline_loss, weight);
    }
    constant_.add(y, weight);
  }
  if (!(weight > 0)) return;
  if (contested_) {
    charge_contest(example_, forecast, true, served_raw_);
    return;
  }
  const double low = observed_.low();
  const double high = observed_.high();
  if (forecast != nullptr) {
    for (const auto& [model, raw] : forecast->raw) {
      const std::size_t i = race_.find(model);
      if (i < race_.size()) race_.charge_one(i, loss_.proxy(raw, y, low, high), weight);
    }
    return;
  }
  for (std::size_t i = 0; i < race_.size(); ++i) race_.raw(i) = lanes_.raw(race_.model(i));
  race_.charge(*kernel_, loss_, y, low, high, weight);
}

// `derivation`: for groups that the screen looks at and no model has; null: there are none.
void Engine::charge_contest(Example& example, const Forecast* forecast, bool derives,
                            double served) noexcept {
  const ContestState& contest = contest_.state();
  const double y = label_of(example);
  const double weight = static_cast<double>(example.weight);
  // Finds what a model predicted; false if the forecast was made without it.
  const auto predicted = [&](std::uint32_t model, double& raw) {
    if (forecast == nullptr) {
      raw = lanes_.raw(model);
      return true;
    }
    for (const auto& [number, prediction] : forecast->raw) {
      if (number != model) continue;
      raw = prediction;
      return true;
    }
    return false;
  };
  double champion = 0.0;
  if (!predicted(contest.champion, champion)) return;
  for (std::size_t i = 0; i < contest.challengers.size(); ++i) {
    ChallengerLosses& losses = contest_.losses(i);
    double raw = 0.0;
    losses.predicted = predicted(contest.challengers[i].model, raw);
    if (!losses.predicted) continue;
    losses.distance = raw - champion;
    losses.loss = loss_.loss(raw, y);
    losses.half = loss_.loss(champion + 0.5 * losses.distance, y);
  }
  contest_.charge(loss_.loss(champion, y), loss_.loss(served, y), step_loss_, weight, t_ + 1);
  double residual = loss_.residual(champion, y);
  const LabelMap& map = lanes_.map(contest.champion);
  if (scaled_) {
    residual = map.scale > 0.0 ? (map.mapped(y) - map.mapped(champion)) / map.scale : 0.0;
  }
  screen_.learn(example, derivation_, derives, residual, contest_.live());
}

bool Engine::decide() noexcept {
  ++t_;
  if (contested_) return contest_.decide(t_);
  const double low = observed_.low();
  const double high = observed_.high();
  const double range = low <= high ? loss_.range(low, high) : 0.0;
  std::size_t best = 0;
  const bool event = race_.decide(*kernel_, evidence_, range, best);
  if (!event) incumbent_ = race_.model(best);
  return event;
}

std::size_t Record::bytes() const {
  std::size_t total = bytes_of(predictions, labels, served_by, others, shares, tags);
  for (const std::string& tag : tags) total += bytes_of(tag);
  return total;
}

void Record::reserve(std::size_t more) {
  if (!wanted) return;
  const auto room = [more](auto& column) {  // doubled, so that not every call copies everything
    if (column.capacity() - column.size() >= more) return;
    column.reserve(std::max(2 * column.size(), column.size() + more));
  };
  room(predictions);
  room(labels);
  room(served_by);
  room(others);
  room(shares);
  if (tags_wanted) room(tags);
}

// Learns one example and records it if that is wanted. Nothing throws once it is learned.
Status Engine::recorded_step() {
  if (!record_.wanted) return step();
  const std::uint32_t serving = incumbent_;
  const bool blended = contested_ && contest_.state().serving.blends();
  const double share = blended ? contest_.state().serving.share : 0.0;
  const std::uint32_t other = blended ? contest_.state().other().model : serving;
  std::string tag(record_.tags_wanted ? example_.tag : std::string_view());
  record_.reserve(1);
  const Status status = step();
  if (status == Status::kBegin || status == Status::kOverdue) return status;
  record_.served_by.push_back(serving);
  record_.others.push_back(other);
  record_.shares.push_back(share);
  record_.predictions.push_back(loss_.served(served_raw_));
  record_.labels.push_back(label_of(example_));
  if (record_.tags_wanted) record_.tags.push_back(std::move(tag));
  return status;
}

// Called where an exception is handled, such as lack of memory: what was learned counts, and the
// next call tries the next example again.
BlockProgress Engine::progress_after_failure(std::size_t at, std::size_t examples) {
  if (examples == 0) throw;
  return {Status::kPaused, at, examples};
}

std::size_t Engine::bytes() const {
  std::size_t total = sizeof(Engine) + groups_.bytes() + derivation_.bytes() + rows_.bytes() +
                      observed_.bytes() + lanes_.bytes() + screen_.bytes() + example_.bytes() +
                      centring_.bytes() + record_.bytes() +
                      bytes_of(models_, contest_.state().challengers, empty_);
  for (const Model& model : models_) total += bytes_of(model.products);
  if (first_rows_ != nullptr) total += sizeof(FirstRows) + first_rows_->bytes();
  return total;
}

}  // namespace chacha
