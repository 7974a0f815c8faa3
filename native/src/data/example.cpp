#include "data/example.hpp"

#include <array>
#include <utility>

namespace chacha {

// Drops empty runs, joins neighbours of one group, and regroups the rest if a letter is not in one
// piece.
void Example::drop_empty_runs(const Groups& groups, std::vector<std::uint32_t>& empty) {
  std::array<std::uint64_t, 4> seen{};
  bool again = false;  // a letter comes back after another one
  int last = -1;
  std::size_t count = 0;
  for (const Run run : runs) {
    if (run.begin == run.end) {
      empty.push_back(run.group);
      continue;
    }
    const unsigned letter = groups.letter(run.group);
    if (static_cast<int>(letter) != last) {
      std::uint64_t& word = seen[letter >> 6];
      const std::uint64_t bit = std::uint64_t{1} << (letter & 63U);
      again |= (word & bit) != 0;
      word |= bit;
      last = static_cast<int>(letter);
    }
    if (!again && count > 0 && runs[count - 1].group == run.group) {
      runs[count - 1].end = run.end;
    } else {
      runs[count++] = run;
    }
  }
  runs.resize(count);
  if (again) regroup(groups);
}

void Example::insert_numbers(const std::vector<NumberCell>& cells) {
  Example all;
  all.reserve(hashes.size() + cells.size());
  for (const Run& run : runs) {
    Run& longer = all.runs.add();
    longer.group = run.group;
    longer.begin = static_cast<std::uint32_t>(all.hashes.size());
    std::uint32_t from = run.begin;
    for (const NumberCell& cell : cells) {
      if (cell.group != run.group) continue;
      while (all.hashes.size() - longer.begin < cell.position && from < run.end) {
        all.add(hashes[from], values[from]);
        ++from;
      }
      const auto single = static_cast<float>(cell.number);
      if (is_there(single) && from < run.end && hashes[from] == cell.hash) ++from;
      all.add_number(cell.hash, cell.number);
    }
    for (; from < run.end; ++from) all.add(hashes[from], values[from]);
    longer.end = static_cast<std::uint32_t>(all.hashes.size());
  }
  all.add_reads();
  runs = std::move(all.runs);
  hashes = std::move(all.hashes);
  values = std::move(all.values);
  read = std::move(all.read);
  ordered_ = false;
}

// Puts the runs of one letter together.
void Example::regroup(const Groups& groups) {
  std::swap(old_runs_, runs);
  old_hashes_ = hashes;
  old_values_ = values;
  old_read_ = read;
  runs.clear();
  hashes.clear();
  values.clear();
  read.clear();
  std::array<std::vector<std::uint32_t>, 256> by_letter;
  std::vector<unsigned> letters;
  for (std::uint32_t i = 0; i < old_runs_.size(); ++i) {
    const unsigned letter = groups.letter(old_runs_[i].group);
    if (by_letter[letter].empty()) letters.push_back(letter);
    by_letter[letter].push_back(i);
  }
  for (const unsigned letter : letters) {
    for (const std::uint32_t i : by_letter[letter]) {
      const Run& run = old_runs_[i];
      const bool joined = !runs.empty() && runs.back().group == run.group;
      if (!joined) open(run.group, static_cast<unsigned char>(letter));
      hashes.append(old_hashes_.begin() + run.begin, old_hashes_.begin() + run.end);
      values.append(old_values_.begin() + run.begin, old_values_.begin() + run.end);
      if (!old_read_.empty()) {
        read.append(old_read_.begin() + run.begin, old_read_.begin() + run.end);
      }
      close();
    }
  }
}

}  // namespace chacha
