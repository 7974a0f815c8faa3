// Which features the models of a bank make of an example, in VW's order, and where each lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/pod.hpp"
#include "data/example.hpp"
#include "learner/expansion.hpp"
#include "learner/live_products.hpp"
#include "learner/places.hpp"
#include "learner/run_index.hpp"

namespace chacha {

// Plans one example after another. What an example has in common with the one before is reused:
// with the same runs only features that differ are looked up, with the same features none.
class FeaturePlan {
 public:
  FeaturePlan(const Groups& groups, const LiveProducts& products, Places& places);

  // Expand an example. With `learning` new features get a place. May throw, and changes no
  // prediction. `again`: the example has the features of the last one, with other values.
  // Returns whether it has other features than the last one, derived ones aside.
  bool expand(const Example& example, bool learning, bool again);
  // Start anew with the next example: products or places have changed.
  void invalidate() noexcept { reusable_ = false; }

  const Expansion& expansion() const { return expansion_; }

 private:
  struct Range {
    std::uint32_t begin, end;
  };
  // Most spans are of one group, of two features, or of two groups.
  enum class Form : std::uint32_t { kSingle, kPair, kTwo, kOther };
  // Features next to each other: the products of ranges of features of the example.
  struct ProductSpan {
    std::uint32_t first;   // of its ranges
    std::uint32_t length;  // how many
    std::uint32_t at;      // its first feature
    Form form;
    std::int64_t owner;  // the lane in whose narrow table they lie, or -1
  };
  // All features of a product or a derived group, or some single ones.
  struct Piece {
    Segment segment;
    std::int64_t owner;
  };
  struct DerivedPiece {
    Piece piece;
    unsigned char letter;
  };
  struct Counts {
    std::size_t wide, narrow;
  };
  class RunChoices;

  static Form form_of(const Range* ranges, std::uint32_t length);
  template <class Visit>
  static void each_stretch(const Range* ranges, std::uint32_t left, const std::uint32_t* hashes,
                           std::uint32_t half, std::uint32_t begin, Visit& visit);
  static float* multiply(const Range* ranges, std::uint32_t left, const float* x, float value,
                         std::uint32_t begin, float* out);
  static std::size_t count(const Range* ranges, std::uint32_t left, std::uint32_t begin);

  // The plan: which features there are.
  void plan_derived(const Example& example, Counts& counts);
  void plan_singles(const Example& example);
  void plan_products(const Example& example, Counts counts);
  void plan_product(const Product& product, const Example& example, const RunIndex::Runs& runs,
                    Counts& counts);
  void order_parts();

  // Their places and values.
  bool same_runs(const Example& example) const;
  void look_up_all(const Example& example, bool learning);
  void look_up_changes(const Example& example, bool learning);
  void look_up(const ProductSpan& span, const Example& example, bool learning);
  void look_up_direct(const ProductSpan& span, const Example& example);
  void write_values(const Example& example);

  const Groups& groups_;
  const LiveProducts& products_;
  Places& places_;

  Expansion expansion_;
  bool reusable_ = false;  // the expansion is of the last example, and every feature has a place
  Pod<std::uint32_t> last_hashes_;
  Pod<Run> last_runs_;
  std::vector<Range> ranges_;
  std::vector<ProductSpan> spans_;
  std::vector<Piece> pieces_;

  // For work on one example.
  std::vector<DerivedPiece> derived_;
  std::vector<Range> choice_;
  RunIndex run_index_;
  Pod<std::uint32_t> changes_;        // features before each that differ from the last example's
  Pod<std::uint32_t> wide_features_;  // one more than there are narrow features
};

}  // namespace chacha
