// Group -> its run in an example.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "data/example.hpp"

namespace chacha {

// Filled for one example at a time. The table stays allocated, and is empty between examples.
class RunIndex {
 public:
  // The runs of an example, as long as this object lives.
  class Runs {
   public:
    Runs(RunIndex& index, const Example& example, std::size_t groups)
        : index_(index), example_(example) {
      if (index.last_.size() < groups) index.last_.resize(groups);
      for (std::uint32_t r = 0; r < example.runs.size(); ++r) {
        std::uint32_t& last = index.last_[example.runs[r].group];
        repeated_ |= last != 0;
        last = r + 1;
      }
    }
    ~Runs() {
      for (const Run& run : example_.runs) index_.last_[run.group] = 0;
    }
    Runs(const Runs&) = delete;
    Runs& operator=(const Runs&) = delete;

    bool has(std::uint32_t group) const { return index_.last_[group] != 0; }
    // Return the last run of a group; an empty one if there is none.
    Run operator[](std::uint32_t group) const {
      return has(group) ? example_.runs[index_.last_[group] - 1] : Run{group, 0, 0};
    }
    // Whether a group has more than one run.
    bool repeated() const { return repeated_; }

   private:
    RunIndex& index_;
    const Example& example_;
    bool repeated_ = false;
  };

  std::size_t bytes() const { return bytes_of(last_); }

 private:
  std::vector<std::uint32_t> last_;  // by group: 1 + its last run
};

}  // namespace chacha
