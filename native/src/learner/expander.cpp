#include "learner/expander.hpp"

#include <algorithm>

#include "vw/hashing.hpp"

namespace chacha {
namespace {

// Call visit(half, first, last) for the features of a product of ranges, in VW's order: the hashes
// of those from first to last, each joined with half.
template <class Visit>
void each_stretch(const FeatureRange* ranges, std::uint32_t left, const std::uint32_t* hashes,
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

// The values of a product of ranges, in the order of its places. Returns where they end.
float* multiply(const FeatureRange* ranges, std::uint32_t left, const float* x, float value,
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

}  // namespace

Expander::Expander(const Groups& groups, const LiveProducts& products, Places& places)
    : plan_(groups, products), places_(places) {}

bool Expander::expand(const Example& example, bool learning, bool again) {
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
bool Expander::same_runs(const Example& example) const {
  if (!reusable_ || example.runs.size() != last_runs_.size()) return false;
  const auto same = [](const Run& a, const Run& b) { return a.group == b.group && a.end == b.end; };
  return std::equal(example.runs.begin(), example.runs.end(), last_runs_.begin(), same);
}

void Expander::look_up_all(const Example& example, bool learning) {
  plan_.make(example, expansion_.segments, expansion_.parts);
  expansion_.places.resize(plan_.wide());
  expansion_.values.resize(plan_.wide());
  expansion_.narrow_places.resize(plan_.narrow());
  expansion_.narrow_values.resize(plan_.narrow());
  wide_list_.resize(plan_.narrow() + 1);
  const std::size_t single = example.raw_features();
  const std::uint32_t mask = places_.mask();
  std::uint32_t* const out = expansion_.places.data();
  for (std::size_t i = 0; i < single; ++i) {
    out[i] = places_.wide(example.hashes[i] & mask, learning);
  }
  out[single] = places_.wide(kConstant & mask, learning);
  // Narrow ones come last: by then no index can move from a narrow place to a wide one.
  for (const ProductSpan& span : plan_.spans()) {
    if (span.owner < 0) look_up(span, example, learning);
  }
  for (const ProductSpan& span : plan_.spans()) {
    if (span.owner >= 0) look_up(span, example, learning);
  }
  last_runs_ = example.runs;
}

void Expander::look_up_changes(const Example& example, bool learning) {
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
    const FeatureRange* const ranges = plan_.ranges(span);
    std::uint32_t changes = 0;
    for (std::uint32_t k = 0; k < span.length; ++k) {
      changes += changes_[ranges[k].end] - changes_[ranges[k].begin];
    }
    return changes > 0;
  };
  for (const ProductSpan& span : plan_.spans()) {
    if (span.owner < 0 && changed(span)) look_up(span, example, learning);
  }
  for (const ProductSpan& span : plan_.spans()) {
    if (span.owner >= 0 && (places_.moved() || changed(span))) look_up(span, example, learning);
  }
}

void Expander::look_up(const ProductSpan& span, const Example& example, bool learning) {
  const auto lane = static_cast<std::size_t>(span.owner);
  if (span.owner >= 0 && places_.direct(lane)) {
    look_up_direct(span, example);
    return;
  }
  Places& places = places_;
  const std::uint32_t mask = places.mask();
  const FeatureRange* ranges = plan_.ranges(span);
  const std::uint32_t* const hashes = example.hashes.data();
  Pod<std::uint32_t>& features = span.owner < 0 ? expansion_.places : expansion_.narrow_places;
  std::uint32_t* out = features.data() + span.at;
  const auto fill = [&](auto place) {
    auto visit = [&](std::uint32_t half, const std::uint32_t* first, const std::uint32_t* last) {
      std::uint32_t* to = out;
      for (; first < last; ++first) *to++ = place((half ^ *first) & mask);
      out = to;
    };
    if (span.form == SpanForm::kPair) {
      *out = place((kFnvPrime * hashes[ranges[0].begin] ^ hashes[ranges[1].begin]) & mask);
    } else if (span.form == SpanForm::kTwo) {
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
void Expander::look_up_direct(const ProductSpan& span, const Example& example) {
  const FeatureRange* ranges = plan_.ranges(span);
  const float* const cells = places_.cells(static_cast<std::size_t>(span.owner));
  std::uint32_t* const places = expansion_.narrow_places.data();
  std::uint32_t* const wide_list = wide_list_.data();
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

void Expander::write_values(const Example& example) {
  const float* x = example.values.data();
  const std::size_t single = example.raw_features();
  std::copy_n(x, single, expansion_.values.data());
  expansion_.values[single] = 1.0F;
  for (const ProductSpan& span : plan_.spans()) {
    const FeatureRange* ranges = plan_.ranges(span);
    Pod<float>& values = span.owner < 0 ? expansion_.values : expansion_.narrow_values;
    float* to = values.data() + span.at;
    if (span.form == SpanForm::kPair) {
      *to = x[ranges[0].begin] * x[ranges[1].begin];
      continue;
    }
    if (span.form == SpanForm::kSingle) {
      std::copy(x + ranges->begin, x + ranges->end, to);
      continue;
    }
    for (std::uint32_t i = ranges->begin; i < ranges->end; ++i) {
      const std::uint32_t inner = ranges[1].begin == ranges->begin ? i : ranges[1].begin;
      if (span.form == SpanForm::kTwo) {
        for (std::uint32_t j = inner; j < ranges[1].end; ++j) *to++ = x[i] * x[j];
      } else {
        to = multiply(ranges + 1, span.length - 1, x, x[i], inner, to);
      }
    }
  }
}

}  // namespace chacha
