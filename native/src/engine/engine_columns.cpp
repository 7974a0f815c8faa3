// Learning from blocks of columns.
#include <algorithm>

#include "engine/engine.hpp"

namespace chacha {

bool Engine::read_row(const ColumnBlock& block, std::size_t row, std::size_t end) {
  if (first_rows_ == nullptr && !rows_.has_late_number(row, end)) {
    return rows_.read(row, end, example_, empty_);
  }
  if (!centring_.on()) {
    const bool good = rows_.read(row, end, example_, empty_);
    first_rows_->full() = example_;
    return good;
  }
  if (!rows_.read_all(row, example_)) return false;
  order_runs(block);
  rows_.add_given(row);
  return true;
}

BlockProgress Engine::advance_columns(const ColumnBlock& block, std::size_t row, std::size_t end,
                                      std::size_t limit) {
  struct Closing {
    RowReader& reader;
    ~Closing() { reader.close(); }
  } const closing{rows_};
  rows_.open(block);
  names_ = &block;
  std::size_t examples = 0;
  std::size_t work = 0;
  try {
    for (; examples < limit && row < end; ++row) {
      if (work > kWorkPerCall) return {Status::kPaused, row, examples};
      const std::size_t last = std::min(end, row + (limit - examples));
      if (!read_row(block, row, last) || !take_label()) return {Status::kBad, row, examples};
      const Status status = recorded_step();
      if (status == Status::kBegin || status == Status::kOverdue) return {status, row, examples};
      ++examples;
      rows_.mark_learned();
      if (status == Status::kDecide) return {status, row + 1, examples};
      work += work_of_example();
    }
  } catch (...) {
    return progress_after_failure(row, examples);
  }
  return {Status::kFine, row, examples};
}

}  // namespace chacha
