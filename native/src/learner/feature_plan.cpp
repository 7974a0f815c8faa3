#include "learner/feature_plan.hpp"

#include <algorithm>
#include <stdexcept>

#include "vw/hashing.hpp"

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
  void each(std::vector<Range>& ranges, Visit visit, std::size_t depth = 0,
            std::size_t offset = 0) const {
    ranges.resize(runs_.size());
    const std::vector<Range>& runs = runs_[depth];
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
  std::vector<std::vector<Range>> runs_;
};

FeaturePlan::FeaturePlan(const Groups& groups, const LiveProducts& products, Places& places)
    : groups_(groups), products_(products), places_(places) {}

bool FeaturePlan::expand(const Example& example, bool learning, bool again) {
  // With other runs than the last example there were derived groups.
  if (again && reusable_ && example.runs.size() == last_runs_.size()) {
    write_values(example);
    return false;
  }
  bool differs = false;
  const bool same = same_runs(example);
  if (!same || example.hashes != last_hashes_) {
    reusable_ = false;
    places_.begin_lookups();
    if (same) {
      look_up_changes(example, learning);
    } else {
      look_up_all(example, learning);
    }
    const std::uint32_t* const hashes = example.hashes.begin();
    differs = !same || !std::equal(hashes, hashes + example.raw_features(), last_hashes_.begin());
    last_hashes_ = example.hashes;
    reusable_ = !places_.missing();
  }
  write_values(example);
  return differs;
}

// Whether the runs are those of the last example: then most places are known.
bool FeaturePlan::same_runs(const Example& example) const {
  if (!reusable_ || example.runs.size() != last_runs_.size()) return false;
  const auto same = [](const Run& a, const Run& b) { return a.group == b.group && a.end == b.end; };
  return std::equal(example.runs.begin(), example.runs.end(), last_runs_.begin(), same);
}

void FeaturePlan::look_up_all(const Example& example, bool learning) {
  const std::size_t single = example.raw_features();
  const std::uint32_t mask = places_.mask();
  Pod<std::uint32_t>& out = expansion_.places;
  out.resize(single + 1);
  pieces_.clear();
  spans_.clear();
  ranges_.clear();
  for (std::size_t i = 0; i < single; ++i)
    out[i] = places_.wide(example.hashes[i] & mask, learning);
  out[single] = places_.wide(kConstant & mask, learning);
  Counts counts{single + 1, 0};
  plan_derived(example, counts);
  plan_singles(example);
  plan_products(example, counts);
  // Narrow ones come last: by then no index can move from a narrow place to a wide one.
  for (const ProductSpan& span : spans_) {
    if (span.owner < 0) look_up(span, example, learning);
  }
  for (const ProductSpan& span : spans_) {
    if (span.owner >= 0) look_up(span, example, learning);
  }
  order_parts();
  last_runs_ = example.runs;
}

void FeaturePlan::look_up_changes(const Example& example, bool learning) {
  const std::size_t n = example.hashes.size();
  const std::uint32_t mask = places_.mask();
  changes_.resize(n + 1);
  changes_[0] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool differs = example.hashes[i] != last_hashes_[i];
    changes_[i + 1] = changes_[i] + (differs ? 1U : 0U);
    if (differs && i < example.raw_features()) {
      expansion_.places[i] = places_.wide(example.hashes[i] & mask, learning);
    }
  }
  const auto changed = [this](const ProductSpan& span) {
    const Range* const ranges = ranges_.data() + span.first;
    std::uint32_t changes = 0;
    for (std::uint32_t k = 0; k < span.length; ++k) {
      changes += changes_[ranges[k].end] - changes_[ranges[k].begin];
    }
    return changes > 0;
  };
  for (const ProductSpan& span : spans_) {
    if (span.owner < 0 && changed(span)) look_up(span, example, learning);
  }
  for (const ProductSpan& span : spans_) {
    if (span.owner >= 0 && (places_.moved() || changed(span))) look_up(span, example, learning);
  }
}

// Call visit(half, first, last) for the features of a product of ranges, in VW's order: the hashes
// of those from first to last, each joined with half.
template <class Visit>
void FeaturePlan::each_stretch(const Range* ranges, std::uint32_t left, const std::uint32_t* hashes,
                               std::uint32_t half, std::uint32_t begin, Visit& visit) {
  if (left == 1) {
    visit(half, hashes + begin, hashes + ranges->end);
    return;
  }
  for (std::uint32_t i = begin; i < ranges->end; ++i) {
    const std::uint32_t inner = ranges[1].begin == ranges->begin ? i : ranges[1].begin;
    each_stretch(ranges + 1, left - 1, hashes, kFnvPrime * (half ^ hashes[i]), inner, visit);
  }
}

void FeaturePlan::look_up(const ProductSpan& span, const Example& example, bool learning) {
  const auto lane = static_cast<std::size_t>(span.owner);
  if (span.owner >= 0 && places_.direct(lane)) {
    look_up_direct(span, example);
    return;
  }
  Places& places = places_;
  const std::uint32_t mask = places.mask();
  const Range* ranges = ranges_.data() + span.first;
  const std::uint32_t* const hashes = example.hashes.data();
  Pod<std::uint32_t>& features = span.owner < 0 ? expansion_.places : expansion_.narrow_places;
  std::uint32_t* out = features.data() + span.at;
  const auto fill = [&](auto place) {
    auto visit = [&](std::uint32_t half, const std::uint32_t* first, const std::uint32_t* last) {
      std::uint32_t* to = out;
      for (; first < last; ++first) *to++ = place((half ^ *first) & mask);
      out = to;
    };
    if (span.form == Form::kPair) {
      *out = place((kFnvPrime * hashes[ranges[0].begin] ^ hashes[ranges[1].begin]) & mask);
    } else if (span.form == Form::kTwo) {
      for (std::uint32_t i = ranges[0].begin; i < ranges[0].end; ++i) {
        visit(kFnvPrime * hashes[i], hashes + ranges[1].begin, hashes + ranges[1].end);
      }
    } else {
      each_stretch(ranges, span.length, hashes, 0, ranges->begin, visit);
    }
  };
  if (span.owner < 0) {
    fill([&](std::uint32_t index) { return places.wide(index, learning); });
  } else {
    fill([&](std::uint32_t index) { return places.narrow(index, lane, learning); });
  }
}

// In a direct table. Which features have a wide place cannot be predicted: they are wide_list
// without a branch, and looked up afterwards.
void FeaturePlan::look_up_direct(const ProductSpan& span, const Example& example) {
  const Range* ranges = ranges_.data() + span.first;
  const float* const cells = places_.cells(static_cast<std::size_t>(span.owner));
  std::uint32_t* const places = expansion_.narrow_places.data();
  std::uint32_t* const wide_list = wide_features_.data();
  std::uint32_t at = span.at;
  std::size_t count = 0;
  auto visit = [&](std::uint32_t half, const std::uint32_t* first, const std::uint32_t* last) {
    const std::uint64_t* const bits = places_.wide_bits();
    const std::uint32_t mask = places_.mask();
    std::uint32_t feature = at;
    std::size_t wide = count;
    for (; first < last; ++first, ++feature) {
      const std::uint32_t index = (half ^ *first) & mask;
      __builtin_prefetch(cells + std::size_t{index} * 4, 1);
      wide_list[wide] = feature;
      wide += (bits[index >> 6] >> (index & 63U)) & 1U;
      places[feature] = index;
    }
    at = feature;
    count = wide;
  };
  each_stretch(ranges, span.length, example.hashes.data(), 0, ranges->begin, visit);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t& place = places[wide_list[i]];
    place = places_.wide_marked(place);
  }
}

// The values of a product of ranges, in the order of its places. Returns where they end.
float* FeaturePlan::multiply(const Range* ranges, std::uint32_t left, const float* x, float value,
                             std::uint32_t begin, float* out) {
  if (left == 1) {
    for (std::uint32_t i = begin; i < ranges->end; ++i) *out++ = value * x[i];
    return out;
  }
  for (std::uint32_t i = begin; i < ranges->end; ++i) {
    const std::uint32_t inner = ranges[1].begin == ranges->begin ? i : ranges[1].begin;
    out = multiply(ranges + 1, left - 1, x, value * x[i], inner, out);
  }
  return out;
}

void FeaturePlan::write_values(const Example& example) {
  const float* x = example.values.data();
  const std::size_t single = example.raw_features();
  std::copy_n(x, single, expansion_.values.data());
  expansion_.values[single] = 1.0F;
  for (const ProductSpan& span : spans_) {
    const Range* ranges = ranges_.data() + span.first;
    Pod<float>& values = span.owner < 0 ? expansion_.values : expansion_.narrow_values;
    float* to = values.data() + span.at;
    if (span.form == Form::kPair) {
      *to = x[ranges[0].begin] * x[ranges[1].begin];
      continue;
    }
    if (span.form == Form::kSingle) {
      std::copy(x + ranges->begin, x + ranges->end, to);
      continue;
    }
    for (std::uint32_t i = ranges->begin; i < ranges->end; ++i) {
      const std::uint32_t inner = ranges[1].begin == ranges->begin ? i : ranges[1].begin;
      if (span.form == Form::kTwo) {
        for (std::uint32_t j = inner; j < ranges[1].end; ++j) *to++ = x[i] * x[j];
      } else {
        to = multiply(ranges + 1, span.length - 1, x, x[i], inner, to);
      }
    }
  }
}

// The features of derived groups lie behind the single ones and the constant.
void FeaturePlan::plan_derived(const Example& example, Counts& counts) {
  derived_.clear();
  for (std::size_t r = example.raw_runs(); r < example.runs.size(); ++r) {
    const Run run = example.runs[r];
    const std::uint32_t mask = products_.mask_of_group(run.group);
    if (mask == 0) continue;
    const auto at = static_cast<std::uint32_t>(counts.wide);
    counts.wide += run.end - run.begin;
    const auto end = static_cast<std::uint32_t>(counts.wide);
    spans_.push_back({static_cast<std::uint32_t>(ranges_.size()), 1, at, Form::kSingle, -1});
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

void FeaturePlan::plan_products(const Example& example, Counts counts) {
  if (!products_.all().empty()) {
    const RunIndex::Runs runs(run_index_, example, groups_.size());
    for (const Product& product : products_.all()) plan_product(product, example, runs, counts);
  }
  expansion_.places.resize(counts.wide);
  expansion_.values.resize(counts.wide);
  expansion_.narrow_places.resize(counts.narrow);
  expansion_.narrow_values.resize(counts.narrow);
  wide_features_.resize(counts.narrow + 1);
}

FeaturePlan::Form FeaturePlan::form_of(const Range* ranges, std::uint32_t length) {
  if (length == 1) return Form::kSingle;
  if (length > 2 || ranges[0].begin == ranges[1].begin) return Form::kOther;
  const bool pair = ranges[0].end - ranges[0].begin == 1 && ranges[1].end - ranges[1].begin == 1;
  return pair ? Form::kPair : Form::kTwo;
}

// How many features a product of ranges has, at most kMostExpanded + 1. A range that occurs twice
// gives combinations.
std::size_t FeaturePlan::count(const Range* ranges, std::uint32_t left, std::uint32_t begin) {
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
                               const RunIndex::Runs& runs, Counts& counts) {
  for (const std::uint32_t group : product.groups) {
    if (!runs.has(group)) return;
  }
  const std::size_t begin = spans_.size();
  std::size_t features = 0;
  const auto add = [&](std::uint32_t first) {  // for the ranges from there on
    const auto length = static_cast<std::uint32_t>(ranges_.size()) - first;
    const Range* ranges = ranges_.data() + first;
    const Form form = form_of(ranges, length);
    spans_.push_back({first, length, static_cast<std::uint32_t>(features), form, -1});
    features += form == Form::kPair ? 1 : count(ranges, length, ranges[0].begin);
    if (features + counts.wide + counts.narrow > kMostExpanded) {
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
  std::size_t& end = owner >= 0 ? counts.narrow : counts.wide;
  const auto at = static_cast<std::uint32_t>(end);
  for (std::size_t k = begin; k < spans_.size(); ++k) {
    spans_[k].at += at;
    spans_[k].owner = owner;
  }
  end += features;
  pieces_.push_back({{at, static_cast<std::uint32_t>(end), product.mask}, owner});
}

// The pieces in VW's order, neighbours that are wide together.
void FeaturePlan::order_parts() {
  std::vector<Segment>& segments = expansion_.segments;
  std::vector<Part>& parts = expansion_.parts;
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
