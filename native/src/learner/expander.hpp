// The places and values of all features that the models of a bank make of an example.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/pod.hpp"
#include "data/example.hpp"
#include "learner/expansion.hpp"
#include "learner/feature_plan.hpp"
#include "learner/live_products.hpp"
#include "learner/places.hpp"

namespace chacha {

// Expands one example after another. What an example has in common with the one before is reused:
// with the same runs only features that differ are looked up, with the same features none.
class Expander {
 public:
  Expander(const Groups& groups, const LiveProducts& products, Places& places);

  // Expand an example. With `learning` new features get a place. May throw, and changes no
  // prediction. `again`: the example has the features of the last one, with other values.
  // Returns whether it has other features than the last one, derived ones aside.
  bool expand(const Example& example, bool learning, bool again);
  // Start over with the next example: products or places have changed.
  void invalidate() noexcept { reusable_ = false; }

  const Expansion& expansion() const { return expansion_; }
  std::size_t bytes() const {
    return plan_.bytes() + expansion_.bytes() +
           bytes_of(last_hashes_, last_runs_, changes_, wide_list_);
  }

 private:
  bool same_runs(const Example& example) const;
  void look_up_all(const Example& example, bool learning);
  void look_up_changes(const Example& example, bool learning);
  void look_up(const ProductSpan& span, const Example& example, bool learning);
  void look_up_direct(const ProductSpan& span, const Example& example);
  void write_values(const Example& example);

  FeaturePlan plan_;
  Places& places_;

  Expansion expansion_;
  bool reusable_ = false;  // the expansion is of the last example, and every feature has a place
  Pod<std::uint32_t> last_hashes_;
  Pod<Run> last_runs_;

  // For work on one example.
  Pod<std::uint32_t> changes_;    // features before each that differ from the last example's
  Pod<std::uint32_t> wide_list_;  // narrow features that have a wide place; has room for one more
};

}  // namespace chacha
