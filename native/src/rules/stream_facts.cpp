#include "rules/stream_facts.hpp"

#include <algorithm>

namespace chacha {

void FeatureSet::reserve(std::size_t n) {
  if (2 * (size_ + n) <= entries_.size()) return;
  std::size_t larger = entries_.size();
  while (2 * (size_ + n) > larger) larger *= 2;
  std::vector<std::uint64_t> entries(larger, kEmpty);
  const std::size_t mask = larger - 1;
  for (const std::uint64_t key : entries_) {
    if (key == kEmpty) continue;
    std::size_t at = mixed(key) & mask;
    while (entries[at] != kEmpty) at = (at + 1) & mask;
    entries[at] = key;
  }
  entries_.swap(entries);
}

bool FeatureSet::add(std::uint32_t group, std::uint32_t hash) {
  const std::uint64_t key = (std::uint64_t{group} << 32) | hash;
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = mixed(key) & mask;
  for (; entries_[at] != kEmpty; at = (at + 1) & mask) {
    if (entries_[at] == key) return false;
  }
  entries_[at] = key;
  ++size_;
  return true;
}

bool ObservedStream::prepare(const Example& example, const std::vector<std::uint32_t>& empty,
                             const Groups& groups) {
  if (sizes_.size() < groups.size()) sizes_.resize(groups.size(), -1);
  features_.reserve(example.hashes.size());
  const auto is_new = [this](std::uint32_t group) { return sizes_[group] < 0; };
  const auto has_new = [&](const Run& run) { return is_new(run.group); };
  const Run* const raw_end = example.runs.begin() + example.raw_runs();
  return std::any_of(example.runs.begin(), raw_end, has_new) ||
         std::any_of(empty.begin(), empty.end(), is_new);
}

bool ObservedStream::observe_label(const Example& example,
                                   const std::vector<std::uint32_t>& empty) noexcept {
  if (example.labelled) {
    low_ = std::min(low_, static_cast<double>(example.label));
    high_ = std::max(high_, static_cast<double>(example.label));
  }
  bool changed = false;
  for (const std::uint32_t group : empty) {
    changed |= sizes_[group] < 0;
    sizes_[group] = std::max<std::int64_t>(sizes_[group], 0);
  }
  return changed;
}

bool ObservedStream::observe(const Example& example, const std::vector<std::uint32_t>& empty,
                             Bank* bank) noexcept {
  bool changed = observe_label(example, empty);
  for (std::size_t r = 0; r < example.raw_runs(); ++r) {
    const Run run = example.runs[r];
    std::int64_t& size = sizes_[run.group];
    size = std::max<std::int64_t>(size, 0);
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      if (is_absent(example.values[i])) continue;
      if (bank != nullptr && bank->first_group(i) == run.group + 1) continue;
      if (bank != nullptr && bank->first_group(i) == 0) bank->first_group(i) = run.group + 1;
      if (!features_.add(run.group, example.hashes[i] & mask_)) continue;
      ++size;
      ++raw_features_;
      changed = true;
    }
  }
  return changed;
}

double ObservedStream::complexity(const std::vector<std::vector<std::uint32_t>>& products) const {
  auto d = static_cast<double>(raw_features_);
  for (const auto& product : products) {
    double features = 1.0;
    double times = 0.0;  // how often the group came before in this product
    for (std::size_t k = 0; k < product.size(); ++k) {
      times = k > 0 && product[k] == product[k - 1] ? times + 1.0 : 0.0;
      const double size = size_of(product[k]);
      features = features * (size + (size > 0 ? times : 0.0)) / (times + 1.0);
    }
    d += features;
  }
  return d;
}

}  // namespace chacha
