// Names of hashed features.
#pragma once

#include <cstdint>
#include <string>

#include "data/groups.hpp"

namespace chacha {

// Finds the name of a feature of the current example. Called once per column, not per example.
class Names {
 public:
  virtual ~Names() = default;
  virtual std::string name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const = 0;
};

}  // namespace chacha
