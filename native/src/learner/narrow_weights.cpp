// The narrow tables: weights of large products that one model alone uses.
#include <algorithm>
#include <new>

#include "learner/bank.hpp"

namespace chacha {
namespace {

constexpr int kDirectBits = 24;            // beyond, a cell for every index is too much
constexpr std::uint32_t kDirectShare = 8;  // one index of so many is many

}  // namespace

// Whether a model keeps this index for itself; it then moves to a wide place once others need it.
bool Bank::in_narrow(std::uint32_t index) const {
  return std::any_of(live_.begin(), live_.end(), [&](std::uint32_t lane) {
    const Narrow& narrow = lanes_[lane].narrow;
    const std::uint32_t cell = narrow.find(index);
    if (cell == IndexMap::kNone) return false;
    return !narrow.direct || narrow.cells[std::size_t{cell} * 4 + 2] != 0;  // it has a norm
  });
}

std::uint32_t Bank::narrow_place(std::uint32_t index, std::uint32_t lane, bool learning) {
  Narrow& narrow = lanes_[lane].narrow;
  const std::uint32_t place = wide_.find(index);
  if (place != IndexMap::kNone) return place | kInWide;
  std::uint32_t cell = narrow.index.find(index);
  if (cell == IndexMap::kNone) {
    if (!learning) {
      complete_ = false;
      return 0 | kInWide;
    }
    cell = narrow.index.size();
    narrow.cells.resize(std::size_t{cell + 1} * 4);
    narrow.cells[std::size_t{cell} * 4 + 1] = lanes_[lane].options.initial_t;
    narrow.index.add(index, cell);
    crowded_ |= bits_ <= kDirectBits && cell > mask_ / kDirectShare;
  }
  __builtin_prefetch(narrow.cells.data() + std::size_t{cell} * 4, 1);
  return cell;
}

// Between two examples: a narrow table with many cells gets one for every index, so that nothing
// has to be looked up. If there is no memory for that, it stays as it is.
void Bank::grow_narrow() noexcept {
  crowded_ = false;
  for (const std::uint32_t lane : live_) {
    Narrow& narrow = lanes_[lane].narrow;
    if (narrow.direct || narrow.index.size() <= mask_ / kDirectShare) continue;
    try {
      make_direct(lanes_[lane]);
      complete_ = false;
    } catch (const std::bad_alloc&) {
      return;
    }
  }
}

void Bank::make_direct(Lane& lane) {
  if (wide_bits_.empty()) {
    wide_bits_.assign(mask_ / 64 + 1, 0);
    for (std::size_t place = 1; place < used_; ++place) mark_wide(index_of_[place]);
  }
  Narrow larger;
  larger.direct = true;
  larger.cells.resize((std::size_t{mask_} + 1) * 4);
  for (std::size_t at = 1; at < larger.cells.size(); at += 4) larger.cells[at] = lane.options.initial_t;
  lane.narrow.index.each([&](std::uint32_t index, std::uint32_t cell) {
    std::copy_n(lane.narrow.cells.data() + std::size_t{cell} * 4, 4, larger.cells.data() + std::size_t{index} * 4);
  });
  lane.narrow = std::move(larger);
}

}  // namespace chacha
