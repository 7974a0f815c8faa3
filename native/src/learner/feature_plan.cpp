// Which features an example has: recipes for single ones, derived groups and products, in VW's order.
#include <algorithm>
#include <stdexcept>

#include "learner/bank.hpp"

namespace chacha {
namespace {

constexpr std::size_t kMostExpanded = std::size_t{1} << 24;  // features of one example
constexpr std::size_t kFew = 32;                             // features that are better kept wide

// How many features a product of ranges has; a range that stands twice gives combinations.
template <class Range>
std::size_t count(const Range* ranges, std::uint32_t left, std::uint32_t begin) {
  if (left == 1) return ranges->end - begin;
  if (ranges[1].begin != ranges->begin) {
    const std::size_t rest = count(ranges + 1, left - 1, ranges[1].begin);
    const std::size_t here = ranges->end - begin;
    return rest > kMostExpanded || here > kMostExpanded ? kMostExpanded + 1 : std::min(kMostExpanded + 1, here * rest);
  }
  std::size_t total = 0;
  for (std::uint32_t i = begin; i < ranges->end && total <= kMostExpanded; ++i) total += count(ranges + 1, left - 1, i);
  return total;
}

}  // namespace

// The choices of runs of one product: mostly one, more if a group stands apart in an example.
// VW takes them from a stack: backwards, but for the last group. A group that stands twice in
// the product gives every pair of its runs once.
class Bank::Choices {
 public:
  Choices(const GroupList& groups, const Example& example) : groups_(groups), all_(groups.size()) {
    for (std::size_t k = 0; k < all_.size(); ++k) {
      for (const Run& run : example.runs) {
        if (run.group == groups[k]) all_[k].push_back({run.begin, run.end});
      }
    }
  }

  template <class Visit>
  void each(std::vector<Range>& ranges, Visit visit, std::size_t depth = 0, std::size_t offset = 0) const {
    ranges.resize(all_.size());
    const std::vector<Range>& runs = all_[depth];
    const bool again = depth > 0 && groups_[depth] == groups_[depth - 1];
    const std::size_t first = again ? offset : 0;
    const bool last = depth + 1 == all_.size();
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
  std::vector<std::vector<Range>> all_;
};

// Where the features of derived groups go: behind the single ones and the constant.
void Bank::write_derived(const Example& example, std::size_t& wide) {
  derived_.clear();
  for (std::size_t r = example.raw_runs(); r < example.runs.size(); ++r) {
    const Run run = example.runs[r];
    const std::uint32_t mask = run.group < mask_of_group_.size() ? mask_of_group_[run.group] : 0;
    if (mask == 0) continue;
    const auto at = static_cast<std::uint32_t>(wide);
    wide += run.end - run.begin;
    recipes_.push_back({static_cast<std::uint32_t>(recipe_ranges_.size()), 1, at, Form::kSingle, -1});
    recipe_ranges_.push_back({run.begin, run.end});
    derived_.push_back({{{at, static_cast<std::uint32_t>(wide), mask}, -1}, groups_.letter(run.group)});
  }
}

// Single features in VW's order: those of one first letter together, derived groups last among
// them; then the constant.
void Bank::write_singles(const Example& example) {
  const auto n = static_cast<std::uint32_t>(example.raw_features());
  if (derived_.empty() && all_constant_) {
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
      derived.piece.segment.mask = 0;  // it has its place
    }
  }
  add_raw(n);
  for (const DerivedPiece& derived : derived_) {
    if (derived.piece.segment.mask != 0) pieces_.push_back(derived.piece);
  }
  pieces_.push_back({{n, n + 1, all_constant_ ? 0U : 1U}, -1});
}

// What the products of the live models make of the runs of an example.
void Bank::write_recipes(const Example& example, std::size_t wide) {
  std::size_t narrow = 0;
  if (!products_.empty()) {
    if (run_of_.size() < groups_.size()) run_of_.resize(groups_.size());
    bool several = false;  // runs of one group
    for (std::uint32_t r = 0; r < example.runs.size(); ++r) {
      std::uint32_t& first = run_of_[example.runs[r].group];
      several |= first != 0;
      if (first == 0) first = r + 1;
    }
    try {
      for (const Product& product : products_) write_recipe(product, example, several, wide, narrow);
    } catch (...) {
      for (const Run& run : example.runs) run_of_[run.group] = 0;
      throw;
    }
    for (const Run& run : example.runs) run_of_[run.group] = 0;
  }
  places_.resize(wide);
  values_.resize(wide);
  narrow_places_.resize(narrow);
  narrow_values_.resize(narrow);
  noted_.resize(narrow + 1);
}

Bank::Form Bank::form_of(const Range* ranges, std::uint32_t length) {
  if (length == 1) return Form::kSingle;
  if (length > 2 || ranges[0].begin == ranges[1].begin) return Form::kOther;
  const bool pair = ranges[0].end - ranges[0].begin == 1 && ranges[1].end - ranges[1].begin == 1;
  return pair ? Form::kPair : Form::kTwo;
}

void Bank::write_recipe(const Product& product, const Example& example, bool several, std::size_t& wide,
                        std::size_t& narrow) {
  for (const std::uint32_t group : product.groups) {
    if (run_of_[group] == 0) return;
  }
  const std::size_t begin = recipes_.size();
  std::size_t features = 0;
  const auto add = [&](std::uint32_t first) {  // for the ranges from there on
    const auto length = static_cast<std::uint32_t>(recipe_ranges_.size()) - first;
    const Range* ranges = recipe_ranges_.data() + first;
    const Form form = form_of(ranges, length);
    recipes_.push_back({first, length, static_cast<std::uint32_t>(features), form, -1});
    features += form == Form::kPair ? 1 : count(ranges, length, ranges[0].begin);
    if (features + wide + narrow > kMostExpanded) throw std::length_error("the products give too many features");
  };
  if (several) {
    Choices(product.groups, example).each(ranges_, [&] {
      const auto next = static_cast<std::uint32_t>(recipe_ranges_.size());
      recipe_ranges_.insert(recipe_ranges_.end(), ranges_.begin(), ranges_.end());
      add(next);
    });
  } else {
    const auto first = static_cast<std::uint32_t>(recipe_ranges_.size());
    for (const std::uint32_t group : product.groups) {
      const Run& run = example.runs[run_of_[group] - 1];
      recipe_ranges_.push_back({run.begin, run.end});
    }
    add(first);
  }
  const bool large = product.owner >= 0 && features > kFew;
  std::size_t& end = large ? narrow : wide;
  for (std::size_t k = begin; k < recipes_.size(); ++k) {
    recipes_[k].at += static_cast<std::uint32_t>(end);
    recipes_[k].owner = large ? product.owner : -1;
  }
  const auto at = static_cast<std::uint32_t>(end);
  end += features;
  pieces_.push_back({{at, static_cast<std::uint32_t>(end), product.mask}, large ? product.owner : -1});
}

// The pieces in VW's order, neighbours that are wide together.
void Bank::order_parts() {
  segments_.clear();
  parts_.clear();
  for (const Piece& piece : pieces_) {
    if (piece.owner >= 0) {
      parts_.push_back({piece.segment.begin, piece.segment.end, piece.owner, piece.segment.mask});
      continue;
    }
    const auto at = static_cast<std::uint32_t>(segments_.size());
    segments_.push_back(piece.segment);
    if (parts_.empty() || parts_.back().owner >= 0) parts_.push_back({at, at, -1, 0});
    parts_.back().end = at + 1;
  }
}

}  // namespace chacha
