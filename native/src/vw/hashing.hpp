// How Vowpal Wabbit hashes names: MurmurHash3 (32 bit); a whole number hashes to itself.
// Twin: src/chacha/data/vw_text.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace chacha {

constexpr std::uint32_t kConstant = 11650396;  // VW's index of the constant feature
constexpr std::uint32_t kFnvPrime = 16777619;  // joins the hashes of a product
constexpr char kDefaultGroup = ' ';            // VW's name of the group without a name

namespace detail {
constexpr std::uint32_t rotl(std::uint32_t x, int r) { return (x << r) | (x >> (32 - r)); }

inline std::uint32_t mixed(std::uint32_t k) {
  k *= 0xcc9e2d51U;
  return rotl(k, 15) * 0x1b873593U;
}
}  // namespace detail

inline std::uint32_t murmur(std::string_view data, std::uint32_t seed) {
  std::uint32_t h = seed;
  const char* p = data.data();
  std::size_t left = data.size();
  for (; left >= 4; left -= 4, p += 4) {
    std::uint32_t k;
    std::memcpy(&k, p, 4);  // little endian, as every machine we run on
    h = detail::rotl(h ^ detail::mixed(k), 13) * 5 + 0xe6546b64U;
  }
  if (left > 0) {
    std::uint32_t k = 0;
    for (std::size_t i = left; i-- > 0;) k = (k << 8) | static_cast<unsigned char>(p[i]);
    h ^= detail::mixed(k);
  }
  h ^= static_cast<std::uint32_t>(data.size());
  h = (h ^ (h >> 16)) * 0x85ebca6bU;
  h = (h ^ (h >> 13)) * 0xc2b2ae35U;
  return h ^ (h >> 16);
}

// The same for the first 1 to 7 of eight bytes, branch-free.
inline std::uint32_t murmur_short(std::uint64_t bytes, int size, std::uint32_t seed) {
  const bool four = size >= 4;
  const auto first = static_cast<std::uint32_t>(bytes);
  const std::uint32_t behind = detail::rotl(seed ^ detail::mixed(first), 13) * 5 + 0xe6546b64U;
  const std::uint64_t used = bytes & ((std::uint64_t{1} << (8 * size)) - 1);
  std::uint32_t h =
      (four ? behind : seed) ^ detail::mixed(static_cast<std::uint32_t>(used >> (four ? 32 : 0)));
  h ^= static_cast<std::uint32_t>(size);
  h = (h ^ (h >> 16)) * 0x85ebca6bU;
  h = (h ^ (h >> 13)) * 0xc2b2ae35U;
  return h ^ (h >> 16);
}

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Return VW's hash of a name. Bytes up to 0x20 around it are ignored; digits are a number.
inline std::uint32_t hash_name(std::string_view name, std::uint32_t seed) {
  auto blank = [](char c) { return static_cast<unsigned char>(c) <= 0x20; };
  while (!name.empty() && blank(name.front())) name.remove_prefix(1);
  while (!name.empty() && blank(name.back())) name.remove_suffix(1);
  std::uint32_t number = 0;
  for (char c : name) {
    if (!is_digit(c)) return murmur(name, seed);
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number + seed;
}

// Return the mask of indices of `bits` bits, up to 32.
constexpr std::uint32_t mask_of(int bits) {
  return bits >= 32 ? 0xffffffffU : (1U << (bits & 31)) - 1;
}

// Return the seed of a group's feature hashes.
inline std::uint32_t group_seed(std::string_view name) {
  return name.size() == 1 && name[0] == kDefaultGroup ? 0 : hash_name(name, 0);
}

}  // namespace chacha
