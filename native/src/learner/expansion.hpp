// An expanded example: the places and values of all features that the models of a bank make of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "base/pod.hpp"
#include "learner/kernel.hpp"

namespace chacha {

struct Expansion {
  // Wide features: the single ones first, then the constant.
  Pod<std::uint32_t> places;
  Pod<float> values;
  Pod<std::uint32_t> narrow_places;
  Pod<float> narrow_values;
  std::vector<Segment> segments;  // of the wide features
  std::vector<Part> parts;        // in VW's order

  Segments wide(const Part& part) const {
    return {segments.data() + part.begin, segments.data() + part.end};
  }
  std::size_t features() const { return values.size() + narrow_values.size(); }
  std::size_t bytes() const {
    return bytes_of(places, values, narrow_places, narrow_values, segments, parts);
  }
};

}  // namespace chacha
