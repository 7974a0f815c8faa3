// Features that are not there, and keep their place.
#pragma once

#include <limits>

namespace chacha {

// The value of such a feature. It does as if there were none, and so does a product with it: other
// values are finite, and so their products are numbers, or infinite.
constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();

// Not shared between files: they are compiled for different machines.
static inline bool is_absent(float value) { return value != value; }
static inline bool is_there(float value) { return value != 0.0F && !is_absent(value); }

}  // namespace chacha
