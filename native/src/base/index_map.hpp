// Index of a weight -> number of its place. Open addressing; grows, never shrinks.
#pragma once

#include <cstdint>
#include <vector>

namespace chacha {

class IndexMap {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  IndexMap() : entries_(2) {}

  std::uint32_t size() const { return size_; }

  std::uint32_t find(std::uint32_t index) const {
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t at = place(index);; at = (at + 1) & mask) {
      const Entry entry = entries_[at];
      if (entry.place == kNone) return kNone;
      if (entry.index == index) return entry.place;
    }
  }

  // Add an index that is not in the map.
  void add(std::uint32_t index, std::uint32_t number) {
    if (2 * (std::size_t{size_} + 1) > entries_.size()) grow();
    put(entries_, index, number);
    ++size_;
  }

  template <class Visit>
  void each(Visit visit) const {
    for (const Entry& entry : entries_) {
      if (entry.place != kNone) visit(entry.index, entry.place);
    }
  }

  std::size_t bytes() const { return entries_.size() * sizeof(Entry); }

 private:
  struct Entry {
    std::uint32_t index = 0;
    std::uint32_t place = kNone;
  };

  std::size_t place(std::uint32_t index) const { return (index * 0x9e3779b1U) >> shift_; }

  void put(std::vector<Entry>& entries, std::uint32_t index, std::uint32_t number) const {
    const std::size_t mask = entries.size() - 1;
    std::size_t at = place(index);
    while (entries[at].place != kNone) at = (at + 1) & mask;
    entries[at] = {index, number};
  }

  void grow() {
    std::vector<Entry> larger(entries_.size() * 2);
    --shift_;
    for (const Entry& entry : entries_) {
      if (entry.place != kNone) put(larger, entry.index, entry.place);
    }
    entries_.swap(larger);
  }

  std::vector<Entry> entries_;
  std::uint32_t size_ = 0;
  int shift_ = 31;
};

}  // namespace chacha
