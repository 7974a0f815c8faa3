// Residual screening: tiny learners for products that no model has, within a budget.
// Expressions keep the order of chacha/rules/contest/screen.py, so the bits are the same.
#pragma once

#include <cstdint>
#include <vector>

#include "features/derivation.hpp"
#include "data/example.hpp"

namespace chacha {

class Screen {
 public:
  struct Found {
    std::int64_t looks;
    double gain;
  };

  void set_rules(double share, double rate) {
    share_ = share;
    rate_ = rate;
  }
  // Begins anew: the groups of each product, and the number of its cells, a power of two.
  void set(std::vector<std::vector<std::uint32_t>> products, const std::vector<std::uint32_t>& cells);

  // Makes room, so that `learn` does not throw.
  void prepare(const Example& example, std::size_t groups, std::size_t live);
  // One example, what the champion left over, and how many models are live. Derived groups that
  // no model has are made here, when the turn of a candidate comes.
  void learn(Example& example, Derivation& derivation, double residual, std::size_t live) noexcept;

  std::int64_t rounds() const { return rounds_; }
  std::int64_t examples() const { return examples_; }
  std::vector<Found> found() const;
  std::int64_t active(std::uint32_t group) const { return group < active_.size() ? active_[group] : 0; }
  std::size_t bytes() const;

 private:
  struct Cell {
    double w = 0.0, adaptive = 0.0, norm = 0.0, rate = 0.0;
  };
  struct Candidate {
    std::vector<std::uint32_t> groups;
    std::uint32_t mask;
    std::int64_t looks = 0;
    double gain = 0.0, norms = 0.0, learned = 0.0;
    std::vector<Cell> cells;
  };
  struct Feature {
    std::uint32_t place;
    double value;
  };
  struct Span {
    std::uint32_t begin = 0, end = 0;  // in the order of features, once they are listed
    std::uint32_t run = 0;             // 1 + the first; 0: the example has none
    bool several = false;              // runs
    bool placed = false;
  };

  std::size_t survey(const Example& example) noexcept;
  void gather(const Candidate& candidate, Example& example, Derivation& derivation) noexcept;
  double width(const Candidate& candidate) const noexcept;
  void take_turns(Example& example, Derivation& derivation, double residual, double least) noexcept;
  void expand(const Candidate& candidate, const Example& example) noexcept;
  void visit(const Candidate& candidate, const Example& example, std::size_t depth, std::uint32_t start,
             std::uint32_t half, double value) noexcept;
  void look(Candidate& candidate, double residual) noexcept;
  void look_at_one(Candidate& candidate, const Feature& feature, double residual) noexcept;

  double share_ = 0.0, rate_ = 0.5;
  std::vector<Candidate> candidates_;
  std::size_t turn_ = 0;
  std::int64_t rounds_ = 0, examples_ = 0;
  double credit_ = 0.0, low_ = 0.0, high_ = 0.0;
  std::vector<std::int64_t> active_;  // by raw group: features, over all examples

  // The example at hand: its features that are not zero, group by group.
  std::vector<Span> spans_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> made_;  // groups whose turn came
  std::vector<Feature> features_;
};

}  // namespace chacha
