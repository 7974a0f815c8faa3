#include "learner/feature_plan.hpp"

#include <algorithm>
#include <stdexcept>

namespace chacha {
namespace {

constexpr std::size_t kMostExpanded = std::size_t{1} << 24;  // features of one example
constexpr std::size_t kFewNarrow = 32;  // products of so few features are faster in the wide table

}  // namespace

// Choices of one run for each group of a product: mostly one choice, more if a group has several
// runs in an example. VW takes them from a stack: backwards, but for the last group. A group that
// occurs twice in the product gives every pair of its runs once.
class FeaturePlan::RunChoices {
 public:
  RunChoices(const GroupList& groups, const Example& example)
      : groups_(groups), runs_(groups.size()) {
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      for (const Run& run : example.runs) {
        if (run.group == groups[k]) runs_[k].push_back({run.begin, run.end});
      }
    }
  }

  // Call visit() with each choice in `ranges`.
  template <class Visit>
  void each(std::vector<FeatureRange>& ranges, Visit visit, std::size_t depth = 0,
            std::size_t offset = 0) const {
    ranges.resize(runs_.size());
    const std::vector<FeatureRange>& runs = runs_[depth];
    const bool again = depth > 0 && groups_[depth] == groups_[depth - 1];
    const std::size_t first = again ? offset : 0;
    const bool last = depth + 1 == runs_.size();
    for (std::size_t k = first; k < runs.size(); ++k) {
      const std::size_t i = last ? k : runs.size() - 1 - (k - first);
      ranges[depth] = runs[i];
      if (last) {
        visit();
      } else {
        each(ranges, visit, depth + 1, i);
      }
    }
  }

 private:
  const GroupList& groups_;
  std::vector<std::vector<FeatureRange>> runs_;
};

FeaturePlan::FeaturePlan(const Groups& groups, const LiveProducts& products)
    : groups_(groups), products_(products) {}

void FeaturePlan::make(const Example& example, std::vector<Segment>& segments,
                       std::vector<Part>& parts) {
  pieces_.clear();
  spans_.clear();
  ranges_.clear();
  wide_ = example.raw_features() + 1;
  narrow_ = 0;
  const std::size_t most = products_.all().size() + example.runs.size() - example.raw_runs();
  spans_.reserve(most);  // vectors that double would take more memory
  ranges_.reserve(2 * most);
  pieces_.reserve(most + 2);
  plan_derived(example);
  plan_singles(example);
  if (!products_.all().empty()) {
    const RunIndex::Runs runs(run_index_, example, groups_.size());
    for (const Product& product : products_.all()) plan_product(product, example, runs);
  }
  order_parts(segments, parts);
}

// The features of derived groups lie behind the single ones and the constant.
void FeaturePlan::plan_derived(const Example& example) {
  derived_.clear();
  for (std::size_t r = example.raw_runs(); r < example.runs.size(); ++r) {
    const Run run = example.runs[r];
    const std::uint32_t mask = products_.mask_of_group(run.group);
    if (mask == 0) continue;
    const auto at = static_cast<std::uint32_t>(wide_);
    wide_ += run.end - run.begin;
    const auto end = static_cast<std::uint32_t>(wide_);
    spans_.push_back({static_cast<std::uint32_t>(ranges_.size()), 1, at, SpanForm::kSingle, -1});
    ranges_.push_back({run.begin, run.end});
    derived_.push_back({{{at, end, mask}, -1}, groups_.letter(run.group)});
  }
}

// Single features in VW's order: those of one first letter together, derived groups last among
// them; then the constant.
void FeaturePlan::plan_singles(const Example& example) {
  const auto n = static_cast<std::uint32_t>(example.raw_features());
  const std::uint32_t constant = products_.mask_of_constant();
  if (derived_.empty() && constant == 0) {
    pieces_.push_back({{0, n + 1, 0}, -1});
    return;
  }
  std::uint32_t begin = 0;
  const auto add_raw = [&](std::uint32_t end) {
    if (end > begin) pieces_.push_back({{begin, end, 0}, -1});
    begin = end;
  };
  for (std::size_t r = 0; r < example.raw_runs() && !derived_.empty(); ++r) {
    const unsigned char letter = groups_.letter(example.runs[r].group);
    if (r + 1 < example.raw_runs() && groups_.letter(example.runs[r + 1].group) == letter) continue;
    for (DerivedPiece& derived : derived_) {
      if (derived.letter != letter || derived.piece.segment.mask == 0) continue;
      add_raw(example.runs[r].end);
      pieces_.push_back(derived.piece);
      derived.piece.segment.mask = 0;  // it is in order
    }
  }
  add_raw(n);
  for (const DerivedPiece& derived : derived_) {
    if (derived.piece.segment.mask != 0) pieces_.push_back(derived.piece);
  }
  pieces_.push_back({{n, n + 1, constant}, -1});
}

SpanForm FeaturePlan::form_of(const FeatureRange* ranges, std::uint32_t length) {
  if (length == 1) return SpanForm::kSingle;
  if (length > 2 || ranges[0].begin == ranges[1].begin) return SpanForm::kOther;
  const bool pair = ranges[0].end - ranges[0].begin == 1 && ranges[1].end - ranges[1].begin == 1;
  return pair ? SpanForm::kPair : SpanForm::kTwo;
}

// How many features a product of ranges has, at most kMostExpanded + 1. A range that occurs twice
// gives combinations.
std::size_t FeaturePlan::count(const FeatureRange* ranges, std::uint32_t left,
                               std::uint32_t begin) {
  if (left == 1) return ranges->end - begin;
  if (ranges[1].begin != ranges->begin) {
    const std::size_t rest = count(ranges + 1, left - 1, ranges[1].begin);
    const std::size_t here = ranges->end - begin;
    if (rest > kMostExpanded || here > kMostExpanded) return kMostExpanded + 1;
    return std::min(kMostExpanded + 1, here * rest);
  }
  std::size_t total = 0;
  for (std::uint32_t i = begin; i < ranges->end && total <= kMostExpanded; ++i) {
    total += count(ranges + 1, left - 1, i);
  }
  return total;
}

void FeaturePlan::plan_product(const Product& product, const Example& example,
                               const RunIndex::Runs& runs) {
  for (const std::uint32_t group : product.groups) {
    if (!runs.has(group)) return;
  }
  const std::size_t begin = spans_.size();
  std::size_t features = 0;
  const auto add = [&](std::uint32_t first) {  // for the ranges from there on
    const auto length = static_cast<std::uint32_t>(ranges_.size()) - first;
    const FeatureRange* ranges = ranges_.data() + first;
    const SpanForm form = form_of(ranges, length);
    spans_.push_back({first, length, static_cast<std::uint32_t>(features), form, -1});
    features += form == SpanForm::kPair ? 1 : count(ranges, length, ranges[0].begin);
    if (features + wide_ + narrow_ > kMostExpanded) {
      throw std::length_error("the products give too many features");
    }
  };
  if (runs.repeated()) {
    RunChoices(product.groups, example).each(choice_, [&] {
      const auto first = static_cast<std::uint32_t>(ranges_.size());
      ranges_.insert(ranges_.end(), choice_.begin(), choice_.end());
      add(first);
    });
  } else {
    const auto first = static_cast<std::uint32_t>(ranges_.size());
    for (const std::uint32_t group : product.groups) {
      const Run run = runs[group];
      ranges_.push_back({run.begin, run.end});
    }
    add(first);
  }
  const std::int64_t owner = features > kFewNarrow ? product.owner : -1;
  std::size_t& end = owner >= 0 ? narrow_ : wide_;
  const auto at = static_cast<std::uint32_t>(end);
  for (std::size_t k = begin; k < spans_.size(); ++k) {
    spans_[k].at += at;
    spans_[k].owner = owner;
  }
  end += features;
  pieces_.push_back({{at, static_cast<std::uint32_t>(end), product.mask}, owner});
}

// The pieces in VW's order, neighbours that are wide together.
void FeaturePlan::order_parts(std::vector<Segment>& segments, std::vector<Part>& parts) const {
  segments.clear();
  parts.clear();
  for (const Piece& piece : pieces_) {
    if (piece.owner >= 0) {
      parts.push_back({piece.segment.begin, piece.segment.end, piece.owner, piece.segment.mask});
      continue;
    }
    const auto at = static_cast<std::uint32_t>(segments.size());
    segments.push_back(piece.segment);
    if (parts.empty() || parts.back().owner >= 0) parts.push_back({at, at, -1, 0});
    parts.back().end = at + 1;
  }
}

}  // namespace chacha
