// The race: what the contenders have lost so far, their bounds, and whether something happens.
// Numbers of one kind lie together, one for each contender, so that they are worked on at once.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/bounds.hpp"
#include "learner/kernel.hpp"

namespace chacha {

// A model's part in the algorithm.
struct Contender {
  std::uint32_t model;
  bool challenger;     // in S: it can be promoted or eliminated
  std::int64_t lease;  // examples until its lease ends
};

class Race {
 public:
  // The champion comes first, then B; the first serves at any age. Without a champion nobody is
  // a `challenger`. `challengers` is |S|. `restless`: something is to be decided after the next
  // example, whatever happens. May throw, and has changed nothing then.
  void line_up(std::vector<Contender> contenders, std::int64_t challengers, bool restless);

  static constexpr std::uint32_t kNobody = 0xffffffffU;

  std::size_t size() const { return contenders_.size(); }
  // The model is no more; its number may become another's.
  void forget(std::uint32_t model);
  // Whether there is a race, and nobody was forgotten since it was lined up.
  bool whole() const { return whole_ && !contenders_.empty(); }
  std::uint32_t model(std::size_t i) const { return contenders_[i].model; }
  // Where a model stands in the race; size() if it does not take part.
  std::size_t find(std::uint32_t model) const;

  Standing standing(std::size_t i) const { return {static_cast<std::int64_t>(n_[i]), total_[i], weight_[i]}; }
  void set_standing(std::size_t i, const Standing& standing);
  void set_complexity(std::size_t i, double d) {
    d_[i] = d;
    quiet_ = 0;
  }
  double& raw(std::size_t i) { return raw_[i]; }

  // Charges all of them for `raw`, or one for another prediction.
  void charge(const Kernel& kernel, const ServedLoss& loss, double y, double low, double high, double weight) noexcept;
  void charge_one(std::size_t i, double loss, double weight) noexcept;

  // Whether a test fires or a lease ends (lines 11-15 of Algorithm 1, line 6 of Algorithm 2).
  // `best` is the contender with the lowest upper bound, which serves next (line 6).
  bool decide(const Kernel& kernel, const SampleComplexity& evidence, double loss_range, std::size_t& best) noexcept;

 private:
  void find_bounds(const Kernel& kernel, const SampleComplexity& evidence, double loss_range) noexcept;
  double quiet_time(const SampleComplexity& evidence, double loss_range) noexcept;
  bool is_twin(std::size_t i) const noexcept;

  std::vector<Contender> contenders_;
  std::int64_t challengers_ = 0;
  bool restless_ = false;
  bool whole_ = true;
  // A mean over n losses of at most R moves by R/n at an example, its bound by epsilon/2n. So for
  // some time nothing can happen, and nobody else can become the best: the bounds rest meanwhile.
  std::int64_t quiet_ = 0;  // examples
  std::int64_t impatience_ = 0;
  double quiet_range_ = 0.0;
  std::size_t best_ = 0;
  std::vector<std::size_t> twins_;  // bit for bit where the best is; as long as they predict the same
  std::vector<double> n_, total_, weight_, d_, log_, raw_, mean_, epsilon_;
};

}  // namespace chacha
