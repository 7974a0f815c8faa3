// Residual screening: tiny learners for products that no model has, within a budget.
// Twin: src/chacha/rules/contest/screen.py; expressions keep its order, so the bits are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/example.hpp"
#include "features/derivation.hpp"

namespace chacha {

class Screen {
 public:
  struct Score {  // of a candidate
    std::int64_t looks;
    double gain;
  };

  void set_rules(double share, double rate) {
    share_ = share;
    rate_ = rate;
  }
  // Sets the candidates: the groups of each product, and the number of its cells, a power of two.
  // The first `keep`, which are among the current candidates, keep their learners and cells.
  void set(const std::vector<std::vector<std::uint32_t>>& products,
           const std::vector<std::uint32_t>& cells, std::size_t keep = 0);

  // Starts over with the same candidates, and keeps no learner.
  void begin_again() noexcept;

  // Makes room, so that `learn` does not throw.
  void prepare(const Example& example, std::size_t groups, std::size_t live);
  // Learns one example, given the champion's residual and the number of live models. `derives`:
  // derived groups that no model has are made here, at a candidate's turn; else there are none.
  void learn(Example& example, Derivation& derivation, bool derives, double residual,
             std::size_t live) noexcept;

  std::int64_t rounds() const { return rounds_; }
  std::size_t kept() const { return kept_; }
  std::int64_t examples() const { return examples_; }
  std::vector<Score> scores() const;  // by candidate
  // Features of a raw group, over all examples.
  std::int64_t active(std::uint32_t group) const;
  std::size_t bytes() const;

 private:
  struct Cell {
    double w = 0.0, adaptive = 0.0, norm = 0.0;
  };
  struct CandidateLearner {
    std::uint32_t first_group, group_count;  // in groups_
    std::uint32_t first_cell, mask;          // in cells_
    std::int64_t looks = 0;
    double gain = 0.0, norms = 0.0, learned = 0.0;
  };
  struct Feature {
    std::uint32_t place;
    double value;
  };
  struct GroupRange {
    const std::uint32_t* first;
    std::size_t count;
    std::size_t size() const { return count; }
    std::uint32_t operator[](std::size_t i) const { return first[i]; }
    const std::uint32_t* begin() const { return first; }
    const std::uint32_t* end() const { return first + count; }
  };
  struct Span {                        // a group of an example
    std::uint64_t example = 0;         // its number; if it is another one, the rest does not count
    std::uint32_t begin = 0, end = 0;  // in order_, if listed
    std::uint32_t run = 0;             // 1 + its first run; 0: it has none
    bool several = false;              // it has more than one run
    bool listed = false;
  };

  GroupRange groups_of(const CandidateLearner& candidate) const {
    return {groups_.data() + candidate.first_group, candidate.group_count};
  }
  std::size_t count_features(const Example& example) noexcept;
  void find_runs(const Example& example) noexcept;
  Span span_of(std::uint32_t group) const noexcept {
    const bool current = group < spans_.size() && spans_[group].example == number_;
    return current ? spans_[group] : Span();
  }
  void list_features(const CandidateLearner& candidate, Example& example, Derivation& derivation,
                     bool derives) noexcept;
  double width(const CandidateLearner& candidate) const noexcept;
  void take_turns(Example& example, Derivation& derivation, bool derives, double residual,
                  double least) noexcept;
  void expand(const CandidateLearner& candidate, const Example& example) noexcept;
  void visit(const CandidateLearner& candidate, const Example& example, std::size_t depth,
             std::uint32_t start, std::uint32_t half, double value) noexcept;
  void train(CandidateLearner& candidate, double residual) noexcept;
  void train_one(CandidateLearner& candidate, const Feature& feature, double residual) noexcept;

  double share_ = 0.0, rate_ = 0.5;
  std::vector<CandidateLearner> candidates_;
  std::vector<std::uint32_t> groups_;  // of all candidates, one after the other
  std::vector<Cell> cells_;            // likewise
  std::size_t turn_ = 0, kept_ = 0;
  std::int64_t rounds_ = 0, examples_ = 0;
  double credit_ = 0.0, low_ = 0.0, high_ = 0.0;
  // Features by raw group. Examples of one shape in which no feature is 0 are only counted (full_);
  // full_runs_ are their raw groups.
  std::vector<std::int64_t> active_;
  std::vector<Run> full_runs_;
  std::int64_t full_ = 0;

  // The current example.
  std::uint64_t number_ = 0;          // never repeated
  std::vector<Span> spans_;           // by group
  std::vector<std::uint32_t> order_;  // features that are not zero, group by group,
  std::vector<std::uint32_t> codes_;  // and the numbers by which their cells are found
  std::vector<Feature> features_;     // of the current candidate
  std::vector<double> rates_;         // by place: of its cells
};

}  // namespace chacha
