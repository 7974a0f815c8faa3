// The groups of a stream, VW's namespaces: each has a number, a letter and a hash seed.
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

// Groups are never removed, so a group keeps its number.
class Groups {
 public:
  Groups();

  // The number of a group; a new name gets the next number.
  std::uint32_t number(std::string_view name) {
    if (name.size() == 1) {
      const std::uint16_t number = by_letter_[static_cast<unsigned char>(name[0])];
      if (number != kNoLetter) return number;
    }
    return find_or_add(name);
  }

  const Group& operator[](std::uint32_t number) const { return groups_[number]; }
  unsigned char letter(std::uint32_t number) const { return letters_[number]; }
  std::uint32_t seed(std::uint32_t number) const { return seeds_[number]; }
  std::size_t bytes() const;  // beside the object itself
  std::uint32_t size() const { return static_cast<std::uint32_t>(groups_.size()); }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;
  static constexpr std::uint16_t kNoLetter = 0xffffU;

  std::uint32_t find_or_add(std::string_view name);
  void grow();

  std::vector<Group> groups_;
  std::vector<unsigned char> letters_;          // of groups_, in less memory
  std::vector<std::uint32_t> seeds_;            // of groups_
  std::array<std::uint16_t, 256> by_letter_{};  // the first groups whose name is one byte
  std::vector<std::uint32_t> table_;            // open addressing over the names' hashes
};

}  // namespace chacha
