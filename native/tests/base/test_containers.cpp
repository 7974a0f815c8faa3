// Containers: the map of indices, arrays of plain values, aligned arrays.
#include <unordered_map>

#include "base/aligned.hpp"
#include "base/index_map.hpp"
#include "base/pod.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

TEST(the_map_finds_what_was_added) {
  IndexMap map;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  Rng rng(6);
  for (std::uint32_t n = 0; n < 50000; ++n) {
    const auto any = static_cast<std::uint32_t>(rng.bits());
    const std::uint32_t index = rng.chance(2) ? rng.below(1U << 18) : any;
    CHECK_EQ(map.find(index) == IndexMap::kNone, numbers.count(index) == 0);
    if (numbers.count(index) > 0) continue;
    map.add(index, n);
    numbers[index] = n;
  }
  CHECK_EQ(map.size(), numbers.size());
  for (const auto& [index, number] : numbers) CHECK_EQ(map.find(index), number);
  std::size_t visits = 0;
  map.each([&](std::uint32_t index, std::uint32_t number) {
    CHECK_EQ(numbers.at(index), number);
    ++visits;
  });
  CHECK_EQ(visits, numbers.size());
  CHECK(map.bytes() >= 16 * numbers.size());
}

TEST(the_map_takes_extreme_indices) {
  IndexMap map;
  map.add(0xffffffffU, 1);
  map.add(0, 2);
  map.add(0x80000000U, 0);
  CHECK_EQ(map.find(0xffffffffU), 1U);
  CHECK_EQ(map.find(0), 2U);
  CHECK_EQ(map.find(0x80000000U), 0U);
  CHECK_EQ(map.find(1), IndexMap::kNone);
}

TEST(a_pod_grows_and_moves) {
  Pod<std::uint32_t> pod;
  for (std::uint32_t i = 0; i < 1000; ++i) pod.push_back(i);
  Pod<std::uint32_t> other = std::move(pod);
  CHECK(pod.empty() && pod.capacity() == 0);  // what was moved from can be used again
  pod.push_back(7);
  CHECK_EQ(pod[0], 7U);
  CHECK_EQ(other.size(), std::size_t{1000});
  const Pod<std::uint32_t> copy = other;
  CHECK(copy == other && copy != pod);
  other.append(copy.begin(), copy.end());
  CHECK_EQ(other.size(), std::size_t{2000});
  CHECK_EQ(other[1999], 999U);
  other.append(nullptr, nullptr);
  other.resize(3);
  CHECK_EQ(other.back(), 2U);
}

TEST(floats_begin_at_a_cache_line) {
  for (const std::size_t size : {1, 16, 1000}) {
    const AlignedFloats floats(size);
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(floats.get()) % 64, std::uintptr_t{0});
    for (std::size_t i = 0; i < size; ++i) CHECK_EQ(floats.get()[i], 0.0F);
  }
  CHECK_EQ(AlignedFloats().size(), std::size_t{0});
}
