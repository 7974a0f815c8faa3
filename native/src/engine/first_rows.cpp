#include "engine/first_rows.hpp"

#include "base/bytes.hpp"

namespace chacha {

void FirstRows::prepare(const Example& learned) {
  rows_.resize(count_);  // an earlier row may not have been learned
  rows_.emplace_back();
  Row& row = rows_.back();
  row.full = full_;
  row.full.labelled = true;
  row.full.label = learned.label;
  row.full.target = learned.target;
  row.full.weight = learned.weight;
  row.full.initial = learned.initial;
  row.full.base = learned.base;
  const std::size_t raw = learned.raw_features();
  for (std::size_t r = learned.raw_runs(); r < learned.runs.size(); ++r) {
    const Run run = learned.runs[r];
    const auto offset = static_cast<std::uint32_t>(raw);
    row.runs.push_back({run.group, run.begin - offset, run.end - offset});
  }
  row.hashes.append(learned.hashes.begin() + raw, learned.hashes.end());
  row.values.append(learned.values.begin() + raw, learned.values.end());
}

// A place that a table keeps for an absent feature does not count.
void FirstRows::add() noexcept {
  waiting_ = false;
  const Example& full = rows_[count_++].full;
  for (const float value : full.values) {
    features_ += !full.read.empty() || is_there(value) ? 1U : 0U;
  }
}

void FirstRows::wait() noexcept {
  rows_.clear();
  count_ = features_ = 0;
  waiting_ = true;
}

std::size_t FirstRows::bytes() const {
  std::size_t total = bytes_of(rows_) + full_.bytes();
  for (const Row& row : rows_) {
    total += row.full.bytes() + bytes_of(row.runs, row.hashes, row.values);
  }
  return total;
}

}  // namespace chacha
