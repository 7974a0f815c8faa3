// How far labels have been from their centre: one that is much farther than all before is cut, so
// that a wild label does not spoil what models have learned, nor the units of the evidence.
// Twin: src/chacha/rules/label_reach.py; expressions keep its order, so the bits are the same.
#pragma once

#include <algorithm>
#include <cmath>

namespace chacha {

class LabelReach {
 public:
  static constexpr double kFarther = 16.0;  // times as far as all labels before, at most
  static constexpr double kGrowth = 2.0;    // of the reach by one label, at most

  // Begins with the centre and the scale of the first labels; a scale of 0 is not known yet.
  void begin(double centre, double scale) {
    centre_ = centre;
    reach_ = scale;
  }
  // The label, or as far in its direction as it may be.
  double cut(double y) const {
    if (!(reach_ > 0.0)) return y;
    const double most = kFarther * reach_;
    return std::min(std::max(y, centre_ - most), centre_ + most);
  }
  // Counts a label.
  void observe(double y) {
    reach_ = std::max(reach_, std::min(std::fabs(y - centre_), kGrowth * reach_));
  }

 private:
  double centre_ = 0.0, reach_ = 0.0;
};

}  // namespace chacha
