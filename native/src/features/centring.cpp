#include "features/centring.hpp"

#include <algorithm>
#include <cmath>

#include "base/bytes.hpp"
#include "base/spread.hpp"

namespace chacha {
namespace {

constexpr double kAside = 0x1p-12;  // scales: so far from the median is the centre
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kEven = 1e-9;  // scales a number: tails whose lengths differ by less are equal

std::size_t mixed(std::uint32_t group, std::uint32_t hash) {
  return (hash ^ (std::size_t{group} * 0x9e3779b97f4a7c15ULL >> 32)) * 0x9e3779b1U;
}

// If more than half of the numbers are equal, that is the centre: then most rows need no feature.
// Otherwise it is a little aside from the median, so that hardly any number is exactly there: a
// number at the centre is no feature, also of groups that are derived from its column. That is the
// side of the longer tail, which changes with the sign of the column; if both are equally long,
// that of the first number.
Centre centre_of(const std::vector<double>& column) {
  std::vector<double> sample = column;
  const Spread spread = spread_of(sample.data(), sample.size());
  if (!(spread.scale > Centre::kLeast)) return {spread.centre, kInfinite};
  const double inverse = 1.0 / spread.scale;
  const auto most = std::count(sample.begin(), sample.end(), spread.centre);
  if (2 * static_cast<std::size_t>(most) > sample.size()) return {spread.centre, inverse};
  double tails = 0.0;
  for (const double x : sample) tails += (x - spread.centre) * inverse;
  if (std::fabs(tails) <= kEven * static_cast<double>(sample.size())) {
    const auto other = [&](double x) { return x != spread.centre; };
    tails = spread.centre - *std::find_if(column.begin(), column.end(), other);
  }
  const double aside = spread.scale * kAside;
  return {spread.centre + (tails < 0.0 ? -aside : aside), inverse};
}

}  // namespace

std::uint32_t Centring::find(std::uint32_t group, std::uint32_t hash) const {
  if (table_.empty()) return kNone;
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = mixed(group, hash) & mask; table_[at] != 0; at = (at + 1) & mask) {
    const Column& column = columns_[table_[at] - 1];
    if (column.hash == hash && column.group == group) return table_[at] - 1;
  }
  return kNone;
}

void Centring::add(std::uint32_t group, std::uint32_t hash) {
  if (table_.size() < 2 * (columns_.size() + 1)) {
    std::vector<std::uint32_t> larger(std::max<std::size_t>(16, 2 * table_.size()));
    for (std::uint32_t i = 0; i < columns_.size(); ++i) {
      std::size_t at = mixed(columns_[i].group, columns_[i].hash) & (larger.size() - 1);
      while (larger[at] != 0) at = (at + 1) & (larger.size() - 1);
      larger[at] = i + 1;
    }
    table_.swap(larger);
  }
  Column column;
  column.group = group;
  column.hash = hash;
  columns_.push_back(std::move(column));
  std::size_t at = mixed(group, hash) & (table_.size() - 1);
  while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
  table_[at] = static_cast<std::uint32_t>(columns_.size());
}

Centre Centring::of(std::uint32_t group, std::uint32_t hash) const {
  const std::uint32_t column = find(group, hash);
  return column == kNone ? Centre() : columns_[column].centre;
}

void Centring::apply(Example& example) const {
  if (!on_ || example.read.empty()) return;
  std::uint32_t n = 0;
  for (Run& run : example.runs) {
    const std::uint32_t begin = n;
    for (std::uint32_t i = run.begin; i < run.end; ++i) {
      float value = example.values[i];
      const double x = example.read[i];
      if (is_number(x)) {
        const Centre centre = of(run.group, example.hashes[i]);
        value = knows_centres() ? centre.of(x) : 1.0F;
        if (centre.waits_for(x)) example.late.push_back({run.group, 0, example.hashes[i], x});
      }
      if (!is_there(value)) continue;
      example.hashes[n] = example.hashes[i];
      example.values[n] = value;
      example.read[n++] = x;
    }
    run.begin = begin;
    run.end = n;
  }
  example.shrink(n);
}

void Centring::prepare(const Example& example) {
  if (finished_) return;
  for (const Run& run : example.runs) {
    for (std::uint32_t i = run.begin; i < run.end && !example.read.empty(); ++i) {
      if (is_words(example.read[i])) continue;
      if (find(run.group, example.hashes[i]) == kNone) add(run.group, example.hashes[i]);
      std::vector<double>& sample = columns_[find(run.group, example.hashes[i])].sample;
      if (sample.size() == sample.capacity()) sample.reserve(2 * sample.size() + 1);
    }
  }
}

void Centring::observe(const Example& example) noexcept {
  if (finished_) return;
  ++rows_;
  for (const Run& run : example.runs) {
    for (std::uint32_t i = run.begin; i < run.end && !example.read.empty(); ++i) {
      if (is_words(example.read[i])) continue;
      Column& column = columns_[find(run.group, example.hashes[i])];
      if (column.given == rows_) continue;  // a row has it twice
      column.given = column.given + 1 == rows_ ? rows_ : 0;
      const bool room = column.sample.size() < column.sample.capacity();
      if (is_number(example.read[i]) && room) column.sample.push_back(example.read[i]);
    }
  }
}

void Centring::fit() {
  if (finished_) return;
  for (Column& column : columns_) {
    column.centre = Centre();
    if (column.given != rows_) continue;
    column.centre = column.sample.empty() ? Centre{0.0, 0.0} : centre_of(column.sample);
  }
  ++version_;
}

void Centring::finish() noexcept {
  if (finished_) return;
  finished_ = true;
  for (Column& column : columns_) column.sample = std::vector<double>();
  ++version_;
}

void Centring::settle(const std::vector<NumberCell>& late) noexcept {
  for (const NumberCell& cell : late) {
    Column& column = columns_[find(cell.group, cell.hash)];
    column.centre = column.centre.found(cell.number);
    ++version_;
  }
}

std::vector<Centring::View> Centring::columns() const {
  std::vector<View> views;
  for (const Column& column : columns_) views.push_back({column.group, column.hash, column.centre});
  return views;
}

std::size_t Centring::bytes() const {
  std::size_t total = bytes_of(columns_, table_);
  for (const Column& column : columns_) total += bytes_of(column.sample);
  return total;
}

}  // namespace chacha
