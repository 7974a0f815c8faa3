#include "rules/screen.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/bytes.hpp"
#include "vw/hashing.hpp"

namespace chacha {
namespace {

bool is_same(const Run& a, const Run& b) {
  return a.group == b.group && a.begin == b.begin && a.end == b.end;
}

}  // namespace

void Screen::set(const std::vector<std::vector<std::uint32_t>>& products,
                 const std::vector<std::uint32_t>& cells, std::size_t keep) {
  std::map<std::vector<std::uint32_t>, const CandidateLearner*> current;
  for (std::size_t i = 0; i < candidates_.size() && keep > 0; ++i) {
    const GroupRange range = groups_of(candidates_[i]);
    current.emplace(std::vector(range.begin(), range.end()), &candidates_[i]);
  }
  std::vector<CandidateLearner> candidates;
  std::vector<std::uint32_t> groups;
  std::vector<const CandidateLearner*> kept;
  candidates.reserve(products.size());
  std::uint32_t count = 0;
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < products.size(); ++i) {
    CandidateLearner candidate{0, 0, 0, cells[i] - 1};
    if (i < keep) {
      kept.push_back(current.at(products[i]));
      candidate = *kept.back();  // its number of cells, too: where a feature goes depends on it
    }
    candidate.first_group = static_cast<std::uint32_t>(groups.size());
    candidate.group_count = static_cast<std::uint32_t>(products[i].size());
    candidate.first_cell = count;
    groups.insert(groups.end(), products[i].begin(), products[i].end());
    count += candidate.mask + 1;
    most = std::max(most, candidate.mask + 1);
    candidates.push_back(candidate);
  }
  groups.shrink_to_fit();
  std::vector<Cell> all_cells(count);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto first = cells_.begin() + kept[i]->first_cell;
    std::copy(first, first + kept[i]->mask + 1, all_cells.begin() + candidates[i].first_cell);
  }
  std::vector<double> rates(most);
  // From here on nothing throws.
  candidates_ = std::move(candidates);
  groups_ = std::move(groups);
  cells_ = std::move(all_cells);
  rates_ = std::move(rates);
  kept_ = kept.size();
  turn_ = 0;
  rounds_ = 0;
  credit_ = 0.0;
}

void Screen::begin_again() noexcept {
  for (CandidateLearner& candidate : candidates_) {
    candidate.looks = 0;
    candidate.gain = candidate.norms = candidate.learned = 0.0;
  }
  std::fill(cells_.begin(), cells_.end(), Cell());
  std::fill(active_.begin(), active_.end(), 0);
  full_ = 0;
  turn_ = kept_ = 0;
  rounds_ = examples_ = 0;
  credit_ = low_ = high_ = 0.0;
}

std::vector<Screen::Score> Screen::scores() const {
  std::vector<Score> scores;
  for (const CandidateLearner& candidate : candidates_) {
    scores.push_back({candidate.looks, candidate.gain});
  }
  return scores;
}

std::size_t Screen::bytes() const {
  return bytes_of(candidates_, groups_, cells_, active_, full_runs_, spans_, order_, codes_,
                  features_, rates_);
}

void Screen::prepare(const Example& example, std::size_t groups, std::size_t live) {
  if (active_.size() < groups) active_.resize(groups);
  if (spans_.size() < groups) spans_.resize(groups);
  full_runs_.reserve(example.runs.size());
  order_.reserve(example.hashes.capacity());
  codes_.reserve(example.hashes.capacity());
  features_.reserve(example.hashes.size() * live);
}

// Counts the features of raw groups; returns how many there are. Most examples of a table have all
// the features that the one before had.
std::size_t Screen::count_features(const Example& example) noexcept {
  const float* const values = example.values.data();
  const std::size_t all = example.raw_features();
  std::size_t features = 0;
  for (std::size_t i = 0; i < all; ++i) features += is_there(values[i]) ? 1U : 0U;
  const Run* const runs = example.runs.begin();
  const Run* const end = runs + example.raw_runs();
  if (features == all && std::equal(runs, end, full_runs_.begin(), full_runs_.end(), is_same)) {
    ++full_;
    return features;
  }
  for (const Run& run : full_runs_) active_[run.group] += full_ * (run.end - run.begin);
  full_ = 0;
  full_runs_.clear();
  for (const Run* run = runs; run != end; ++run) {
    std::int64_t count = 0;
    for (std::uint32_t i = run->begin; i < run->end; ++i) count += is_there(values[i]) ? 1 : 0;
    active_[run->group] += count;
  }
  if (features == all) full_runs_.insert(full_runs_.end(), runs, end);  // there is room
  return features;
}

std::int64_t Screen::active(std::uint32_t group) const {
  std::int64_t features = group < active_.size() ? active_[group] : 0;
  for (const Run& run : full_runs_) {
    if (run.group == group) features += full_ * (run.end - run.begin);
  }
  return features;
}

// Finds the runs of the groups of an example.
void Screen::find_runs(const Example& example) noexcept {
  order_.clear();
  codes_.clear();
  for (std::uint32_t r = 0; r < example.runs.size(); ++r) {
    Span& span = spans_[example.runs[r].group];
    if (span.example != number_) {
      span = Span();
      span.example = number_;
      span.run = r + 1;
    } else {
      span.several = true;
    }
  }
}

// Lists the features of a candidate's groups that are not zero, unless an earlier candidate has the
// group too. Makes derived groups that no model has.
void Screen::list_features(const CandidateLearner& candidate, Example& example,
                           Derivation& derivation, bool derives) noexcept {
  for (const std::uint32_t group : groups_of(candidate)) {
    if (group >= spans_.size() || span_of(group).listed) continue;
    Span& span = spans_[group];
    if (span.example != number_) span = Span();  // it has no run
    const bool derived = derivation.on() && derivation.is_derived(group);
    if (span.run == 0 && !(derives && derived)) continue;
    const auto add = [&](const Run& run) {
      for (std::uint32_t i = run.begin; i < run.end; ++i) {
        if (!is_there(example.values[i])) continue;
        const std::uint32_t hash = example.hashes[i];
        order_.push_back(i);
        codes_.push_back(derived ? derivation.code_of(group, hash) : hash);
      }
    };
    span.example = number_;
    span.listed = true;
    span.begin = static_cast<std::uint32_t>(order_.size());
    if (span.run == 0) {
      add(derivation.derive_group(example, group));
    } else if (!span.several) {
      add(example.runs[span.run - 1]);
    } else {
      for (const Run& run : example.runs) {
        if (run.group == group) add(run);
      }
    }
    span.end = static_cast<std::uint32_t>(order_.size());
  }
}

double Screen::width(const CandidateLearner& candidate) const noexcept {
  double product = 1.0;
  std::size_t times = 0;
  const GroupRange groups = groups_of(candidate);
  for (std::size_t k = 0; k < groups.size(); ++k) {
    times = k > 0 && groups[k] == groups[k - 1] ? times + 1 : 0;
    const std::uint32_t group = groups[k];
    const Span span = span_of(group);
    const auto count = static_cast<double>(span.end - span.begin);
    const auto again = static_cast<double>(times);
    product = product * (count > 0 ? count + again : 0.0) / (again + 1.0);
  }
  return product;
}

void Screen::learn(Example& example, Derivation& derivation, bool derives, double residual,
                   std::size_t live) noexcept {
  const std::size_t features = count_features(example);
  ++examples_;
  ++number_;
  if (share_ > 0.0 && !candidates_.empty() && std::isfinite(residual)) {
    const double least = static_cast<double>(features) * static_cast<double>(live);
    find_runs(example);
    take_turns(example, derivation, derives, residual, least);
    low_ = std::min(low_, residual);
    high_ = std::max(high_, residual);
  }
}

void Screen::take_turns(Example& example, Derivation& derivation, bool derives, double residual,
                        double least) noexcept {
  credit_ = std::min(credit_ + share_ * least, least);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    CandidateLearner& candidate = candidates_[turn_];
    list_features(candidate, example, derivation, derives);
    const double wide = width(candidate);
    if (wide > 0.0 && wide <= least) {
      if (wide > credit_) return;
      credit_ -= wide;
      expand(candidate, example);
      if (features_.size() == 1) {
        train_one(candidate, features_.front(), residual);
      } else {
        train(candidate, residual);
      }
    }
    if (++turn_ == candidates_.size()) {
      turn_ = 0;
      ++rounds_;
    }
  }
}

void Screen::expand(const CandidateLearner& candidate, const Example& example) noexcept {
  features_.clear();
  const GroupRange groups = groups_of(candidate);
  if (groups.size() != 2 || groups[0] == groups[1]) {
    visit(candidate, example, 0, 0, 0, 1.0);
    return;
  }
  const Span left = spans_[groups[0]];
  const Span right = spans_[groups[1]];
  for (std::uint32_t i = left.begin; i < left.end; ++i) {
    const std::uint32_t half = kFnvPrime * codes_[i];
    const double value = 1.0 * static_cast<double>(example.values[order_[i]]);
    for (std::uint32_t j = right.begin; j < right.end; ++j) {
      const double x = value * static_cast<double>(example.values[order_[j]]);
      const std::uint32_t hash = half ^ codes_[j];
      if (x != 0.0) features_.push_back({hash & candidate.mask, x});
    }
  }
}

// As `train`, for the common case of a candidate with one feature.
void Screen::train_one(CandidateLearner& candidate, const Feature& feature,
                       double residual) noexcept {
  Cell& cell = cells_[candidate.first_cell + feature.place];
  const double x = feature.value;
  const double guess = std::min(std::max(0.0 + cell.w * x, low_), high_);
  ++candidate.looks;
  candidate.gain += guess * (2.0 * residual - guess);
  const double error = residual - guess;
  const double square = 4.0 * error * error;
  if (!(square > 0.0)) return;
  const double xx = x * x;
  const double size = std::fabs(x);
  cell.adaptive += square * xx;
  if (size > cell.norm) {
    if (cell.norm > 0.0) cell.w *= cell.norm / size;
    cell.norm = size;
  }
  const double share = size / cell.norm;
  const double slow = std::sqrt(cell.adaptive) * cell.norm;
  const double rate = slow > 0.0 ? 1.0 / slow : 0.0;
  candidate.norms += share * share;
  candidate.learned += 1.0;
  if (!(candidate.norms > 0.0)) return;
  const double factor = std::sqrt(candidate.learned / candidate.norms);
  const double update = error * (2.0 * rate_) * factor / (1.0 + 2.0 * rate_ * (xx * rate) * factor);
  cell.w += update * x * rate;
}

void Screen::visit(const CandidateLearner& candidate, const Example& example, std::size_t depth,
                   std::uint32_t start, std::uint32_t half, double value) noexcept {
  const GroupRange groups = groups_of(candidate);
  const Span span = spans_[groups[depth]];
  const bool last = depth + 1 == groups.size();
  const bool same = !last && groups[depth + 1] == groups[depth];
  for (std::uint32_t i = start; i < span.end - span.begin; ++i) {
    const std::uint32_t feature = order_[span.begin + i];
    const double x = value * static_cast<double>(example.values[feature]);
    const std::uint32_t hash = half ^ codes_[span.begin + i];
    if (!last) {
      visit(candidate, example, depth + 1, same ? i : 0, kFnvPrime * hash, x);
    } else if (x != 0.0) {
      features_.push_back({hash & candidate.mask, x});
    }
  }
}

void Screen::train(CandidateLearner& candidate, double residual) noexcept {
  Cell* const cells = cells_.data() + candidate.first_cell;
  double* const rates = rates_.data();
  double guess = 0.0;
  for (const Feature& feature : features_) guess += cells[feature.place].w * feature.value;
  guess = std::min(std::max(guess, low_), high_);
  ++candidate.looks;
  candidate.gain += guess * (2.0 * residual - guess);
  const double error = residual - guess;
  const double square = 4.0 * error * error;
  if (!(square > 0.0)) return;
  double norms = 0.0;
  double per_update = 0.0;
  for (const Feature& feature : features_) {
    Cell& cell = cells[feature.place];
    const double xx = feature.value * feature.value;
    cell.adaptive += square * xx;
    const double size = std::fabs(feature.value);
    if (size > cell.norm) {
      if (cell.norm > 0.0) cell.w *= cell.norm / size;
      cell.norm = size;
    }
    const double share = size / cell.norm;
    norms += share * share;
    const double slow = std::sqrt(cell.adaptive) * cell.norm;
    const double rate = slow > 0.0 ? 1.0 / slow : 0.0;
    rates[feature.place] = rate;  // by place: of several features in a cell the last one counts
    per_update += xx * rate;
  }
  candidate.norms += norms;
  candidate.learned += 1.0;
  if (!(candidate.norms > 0.0)) return;
  const double factor = std::sqrt(candidate.learned / candidate.norms);
  const double update = error * (2.0 * rate_) * factor / (1.0 + 2.0 * rate_ * per_update * factor);
  for (const Feature& feature : features_) {
    Cell& cell = cells[feature.place];
    cell.w += update * feature.value * rates[feature.place];
  }
}

}  // namespace chacha
