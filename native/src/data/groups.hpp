// The groups (VW's namespaces) by name: each has a number, its first byte and its hash seed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vw/hashing.hpp"

namespace chacha {

struct Group {
  std::string name;
  std::uint32_t seed;    // of the hashes of its features
  unsigned char letter;  // VW keeps features by the first byte of their group
};

// Names are never forgotten: a group keeps its number.
class Groups {
 public:
  Groups();

  // The number of a group; a new name gets the next one.
  std::uint32_t number(std::string_view name) {
    if (name.size() == 1) {
      const std::uint32_t known = by_letter_[static_cast<unsigned char>(name[0])];
      if (known != kNone) return known;
    }
    return find_or_add(name);
  }

  const Group& operator[](std::uint32_t number) const { return groups_[number]; }
  unsigned char letter(std::uint32_t number) const { return letters_[number]; }
  std::uint32_t seed(std::uint32_t number) const { return seeds_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(groups_.size()); }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  std::uint32_t find_or_add(std::string_view name);
  void grow();

  std::vector<Group> groups_;
  std::vector<unsigned char> letters_;  // as in the groups, closer together
  std::vector<std::uint32_t> seeds_;
  std::array<std::uint32_t, 256> by_letter_{};
  std::vector<std::uint32_t> table_;  // open addressing over the names' hashes
};

}  // namespace chacha
