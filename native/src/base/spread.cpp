#include "base/spread.hpp"

#include <algorithm>
#include <cmath>

namespace chacha {
namespace {

constexpr double kWild = 6.0;  // median deviations, beyond which a deviation is cut

}  // namespace

Spread spread_of(double* values, std::size_t count) noexcept {
  std::sort(values, values + count);
  const std::size_t half = count / 2;
  const double centre =
      count % 2 == 1 ? values[half] : values[half - 1] + (values[half] - values[half - 1]) * 0.5;
  // Deviations in ascending order: the sorted numbers, merged from the middle outwards.
  std::size_t below =
      static_cast<std::size_t>(std::lower_bound(values, values + count, centre) - values);
  std::size_t above =
      static_cast<std::size_t>(std::upper_bound(values, values + count, centre) - values);
  const std::size_t others = count - (above - below);  // that are not the centre
  if (others == 0) return {centre, 0.0};
  const auto next = [&] {
    const bool down =
        above == count || (below > 0 && centre - values[below - 1] <= values[above] - centre);
    return down ? centre - values[--below] : values[above++] - centre;
  };
  double median = 0.0;
  for (std::size_t i = 0; i <= others / 2; ++i) median = next();
  const double most = kWild * median;
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = std::min(std::fabs(values[i] - centre), most) / most;
    sum += share * share;
  }
  return {centre, most * std::sqrt(sum / static_cast<double>(count))};
}

}  // namespace chacha
