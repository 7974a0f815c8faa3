// Where some numbers lie and how far they spread; a few wild ones move neither far.
// Twin: src/chacha/data/spread.py; expressions keep its order, so the bits are the same.
#pragma once

#include <cstddef>

namespace chacha {

struct Spread {
  double centre = 0.0;  // the median
  double scale = 0.0;   // the standard deviation, wild deviations cut; 0: all are equal
};

// Sorts the numbers, of which there is at least one.
Spread spread_of(double* values, std::size_t count) noexcept;

}  // namespace chacha
