// Which features the models of a bank make of an example, in VW's order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "data/example.hpp"
#include "learner/kernel.hpp"
#include "learner/live_products.hpp"
#include "learner/run_index.hpp"

namespace chacha {

// Features [begin, end) of an example.
struct FeatureRange {
  std::uint32_t begin, end;
};

// Most spans are of one group, of two features, or of two groups.
enum class SpanForm : std::uint32_t { kSingle, kPair, kTwo, kOther };

// Expanded features next to each other: the products of ranges of features of the example.
struct ProductSpan {
  std::uint32_t first;   // of its ranges
  std::uint32_t length;  // how many
  std::uint32_t at;      // its first feature
  SpanForm form;
  std::int64_t owner;  // the lane in whose narrow table they lie, or -1
};

// The plan of one example: how many wide and narrow features it has, and the spans of those that
// are made of others. It depends on the runs of the example and on the products of the live models,
// not on hashes and values. The single features come first, then the constant.
class FeaturePlan {
 public:
  FeaturePlan(const Groups& groups, const LiveProducts& products);

  // Plan an example. Writes the segments and parts of its features, in VW's order.
  void make(const Example& example, std::vector<Segment>& segments, std::vector<Part>& parts);

  std::size_t wide() const { return wide_; }
  std::size_t narrow() const { return narrow_; }
  const std::vector<ProductSpan>& spans() const { return spans_; }
  std::size_t bytes() const {
    return bytes_of(spans_, ranges_, pieces_, derived_, choice_) + run_index_.bytes();
  }
  const FeatureRange* ranges(const ProductSpan& span) const { return ranges_.data() + span.first; }

 private:
  // All features of a product or a derived group, or some single ones.
  struct Piece {
    Segment segment;
    std::int64_t owner;
  };
  struct DerivedPiece {
    Piece piece;
    unsigned char letter;
  };
  class RunChoices;

  static SpanForm form_of(const FeatureRange* ranges, std::uint32_t length);
  static std::size_t count(const FeatureRange* ranges, std::uint32_t left, std::uint32_t begin);

  void plan_derived(const Example& example);
  void plan_singles(const Example& example);
  void plan_product(const Product& product, const Example& example, const RunIndex::Runs& runs);
  void order_parts(std::vector<Segment>& segments, std::vector<Part>& parts) const;

  const Groups& groups_;
  const LiveProducts& products_;

  std::size_t wide_ = 0, narrow_ = 0;
  std::vector<ProductSpan> spans_;
  std::vector<FeatureRange> ranges_;
  std::vector<Piece> pieces_;

  // For work on one example.
  std::vector<DerivedPiece> derived_;
  std::vector<FeatureRange> choice_;
  RunIndex run_index_;
};

}  // namespace chacha
