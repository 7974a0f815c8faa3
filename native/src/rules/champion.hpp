// Algorithm 1 over the live models: their losses, their bounds, and whether a test fires.
// Twin: src/chacha/rules/paper/champion.py, which makes the decisions.
// Values of one kind are stored together, one per contender, so that they are computed at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "learner/kernel.hpp"
#include "rules/bounds.hpp"
#include "rules/progressive_loss.hpp"
#include "rules/served_loss.hpp"

namespace chacha {

// A live model: the champion or one of B.
struct Contender {
  std::uint32_t model;
  bool challenger;     // in S: it can be promoted or eliminated
  std::int64_t lease;  // examples until its lease ends
};

class ChampionChallengers {
 public:
  static constexpr std::uint32_t kNoModel = 0xffffffffU;

  // The champion comes first, then B; the first serves at any age. Without a champion no contender
  // is a `challenger`. `challengers` is |S|. `decide_anyway`: a decision is due after the next
  // example, whether or not a test fires. May throw, and has changed nothing then.
  void set_contenders(std::vector<Contender> contenders, std::int64_t challengers,
                      bool decide_anyway);
  std::size_t size() const { return contenders_.size(); }
  // The model was stopped; another may get its number.
  void forget(std::uint32_t model);
  // Whether there are contenders, and none was stopped since they were set.
  bool complete() const { return complete_ && !contenders_.empty(); }
  std::uint32_t model(std::size_t i) const { return contenders_[i].model; }
  // The position of a model among the contenders; size() if it is none of them.
  std::size_t find(std::uint32_t model) const;

  ProgressiveLoss standing(std::size_t i) const {
    return {static_cast<std::int64_t>(n_[i]), total_[i], weight_[i]};
  }
  void set_standing(std::size_t i, const ProgressiveLoss& standing);
  void set_complexity(std::size_t i, double d) {
    d_[i] = d;
    idle_ = 0;
  }
  double& raw(std::size_t i) { return raw_[i]; }

  // Charges all contenders for `raw`, or one for a given loss.
  void charge(const Kernel& kernel, const ServedLoss& loss, double y, double low, double high,
              double weight) noexcept;
  void charge_one(std::size_t i, double loss, double weight) noexcept;

  // Whether a test fires or a lease ends (lines 11-15 of Algorithm 1, line 6 of Algorithm 2).
  // `best` is the contender with the lowest upper bound, which serves next (line 6).
  bool decide(const Kernel& kernel, const SampleComplexity& evidence, double loss_range,
              std::size_t& best) noexcept;

 private:
  void find_bounds(const Kernel& kernel, const SampleComplexity& evidence,
                   double loss_range) noexcept;
  double examples_without_event(const SampleComplexity& evidence, double loss_range) noexcept;
  bool is_tied(std::size_t i) const noexcept;

  std::vector<Contender> contenders_;
  std::int64_t challengers_ = 0;
  bool decide_anyway_ = false;
  bool complete_ = true;
  // A mean over n losses of at most R moves by R/n per example, and its bound by epsilon/2n. So
  // for some examples no test can fire and the best stays the best: no bounds are computed.
  std::int64_t idle_ = 0;     // examples left of such a time
  std::int64_t backoff_ = 0;  // examples until such a time is looked for again
  double idle_range_ = 0.0;
  std::size_t best_ = 0;
  std::vector<std::size_t> ties_;  // equal to the best, as long as they predict the same
  std::vector<double> n_, total_, weight_, d_, log_, raw_, mean_, epsilon_;
};

}  // namespace chacha
