#include "rules/blending.hpp"

#include <algorithm>
#include <cmath>

namespace chacha {

void Helping::add(double none_loss, double half_loss, double whole_loss, double distance,
                  double decay) noexcept {
  const double square = distance * distance;
  if (!std::isfinite(none_loss + half_loss + whole_loss + square)) return;
  ++n;
  none = none * decay + none_loss;
  half = half * decay + half_loss;
  whole = whole * decay + whole_loss;
  const double saved = none_loss - half_loss;
  noise = noise * (decay * decay) + saved * saved;
  apart += std::max(1.0 / static_cast<double>(n), 1.0 - decay) * (square - apart);
}

double Helping::gain(double share, double errors) const noexcept {
  const double bend = 2.0 * (whole - 2.0 * half + none);
  const double slope = 4.0 * half - 3.0 * none - whole;
  const double error = 2.0 * share * std::sqrt(noise);
  return -(slope * share + bend * share * share) - errors * error;
}

double Serving::served(double champion, double challenger) const noexcept {
  const double apart = challenger - champion;
  if (std::isnan(apart)) return champion;
  return champion + share * std::min(std::max(apart, -most), most);
}

}  // namespace chacha
