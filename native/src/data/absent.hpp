// Absent features: they keep a place in an example, but do not count.
#pragma once

#include <limits>

namespace chacha {

// The value of an absent feature. A product with it is absent too: other values are finite, so
// their products are never NaN.
constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();

// Static: files that are compiled for different machines must not share the code.
static inline bool is_absent(float value) { return value != value; }
static inline bool is_there(float value) { return value != 0.0F && !is_absent(value); }

}  // namespace chacha
