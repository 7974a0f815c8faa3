// Hashes are VW's: the values below come from it.
#include "data/groups.hpp"
#include "support/check.hpp"
#include "vw/hashing.hpp"

using namespace chacha;

TEST(murmur_gives_known_values) {
  CHECK_EQ(murmur("hello", 0), 613153351U);
  CHECK_EQ(murmur("", 0), 0U);
  CHECK_EQ(murmur("", 1), 0x514e28b7U);
  CHECK_EQ(murmur("aaaa", 0x9747b28cU), 0x5a97808aU);
  CHECK_EQ(murmur("aaa", 0x9747b28cU), 0x283e0130U);
  CHECK_EQ(murmur("aa", 0x9747b28cU), 0x5d211726U);
  CHECK_EQ(murmur("a", 0x9747b28cU), 0x7fa09ea6U);
  CHECK_EQ(murmur("Hello, world!", 0x9747b28cU), 0x24884cbaU);
}

TEST(murmur_takes_unaligned_bytes) {
  const std::string text = "xhello hello";
  CHECK_EQ(murmur(std::string_view(text).substr(1, 5), 0), murmur("hello", 0));
  CHECK_EQ(murmur(std::string_view(text).substr(7), 0), murmur("hello", 0));
}

TEST(murmur_of_a_short_word_is_the_same) {
  std::uint64_t bytes = 0x6b8f1d03a5c27e94U;
  for (int round = 0; round < 1000; ++round) {
    bytes = bytes * 6364136223846793005U + 1442695040888963407U;
    char text[8];
    std::memcpy(text, &bytes, sizeof text);
    for (int size = 1; size < 8; ++size) {
      const auto seed = static_cast<std::uint32_t>(bytes >> 21);
      CHECK_EQ(murmur_short(bytes, size, seed),
               murmur({text, static_cast<std::size_t>(size)}, seed));
    }
  }
}

TEST(hash_name_knows_whole_numbers) {
  CHECK_EQ(hash_name("17", 5), 22U);
  CHECK_EQ(hash_name("007", 5), 12U);
  CHECK_EQ(hash_name("user", 0), 2509520141U);
  CHECK_EQ(hash_name("-1", 0), murmur("-1", 0));
  CHECK_EQ(hash_name("1.5", 7), murmur("1.5", 7));
}

TEST(hash_name_lets_long_numbers_wrap) {
  CHECK_EQ(hash_name("4294967295", 0), 4294967295U);
  CHECK_EQ(hash_name("4294967296", 3), 3U);
  CHECK_EQ(hash_name("99999999999999999999", 0),
           static_cast<std::uint32_t>(7766279631452241919ULL));
}

TEST(hash_name_trims) {
  CHECK_EQ(hash_name("  user\t", 0), hash_name("user", 0));
  CHECK_EQ(hash_name(std::string_view("\0 17\x01\x1f", 6), 5), 22U);
  CHECK_EQ(hash_name("a b", 0), murmur("a b", 0));
  CHECK_EQ(hash_name("", 9), 9U);
  CHECK_EQ(hash_name("   ", 9), 9U);
  CHECK_EQ(hash_name("\x7fz", 1), murmur("\x7fz", 1));
}

TEST(the_group_without_a_name_has_seed_0) {
  CHECK_EQ(group_seed(" "), 0U);
  CHECK_EQ(group_seed("7"), 7U);
  CHECK_EQ(group_seed("user"), 2509520141U);
}

TEST(masks_have_up_to_32_bits) {
  CHECK_EQ(mask_of(1), 1U);
  CHECK_EQ(mask_of(18), 0x3ffffU);
  CHECK_EQ(mask_of(31), 0x7fffffffU);
  CHECK_EQ(mask_of(32), 0xffffffffU);
}

TEST(groups_keep_their_numbers) {
  Groups groups;
  CHECK_EQ(groups.number("a"), 0U);
  CHECK_EQ(groups.number("alpha"), 1U);
  CHECK_EQ(groups.number("b"), 2U);
  for (std::uint32_t i = 0; i < 5000; ++i) CHECK_EQ(groups.number("g" + std::to_string(i)), 3 + i);
  CHECK_EQ(groups.size(), 5003U);
  CHECK_EQ(groups.number("a"), 0U);
  CHECK_EQ(groups.number("alpha"), 1U);
  for (std::uint32_t i = 0; i < 5000; ++i) CHECK_EQ(groups.number("g" + std::to_string(i)), 3 + i);
  CHECK_EQ(groups[1].name, std::string("alpha"));
  CHECK_EQ(groups[1].letter, static_cast<unsigned char>('a'));
  CHECK_EQ(groups[1].seed, hash_name("alpha", 0));
}

TEST(groups_may_have_any_bytes_but_not_none) {
  Groups groups;
  const std::string odd("\xff\0z", 3);
  CHECK_EQ(groups.number(odd), 0U);
  CHECK_EQ(groups.number(std::string_view("\xff\0y", 3)), 1U);
  CHECK_EQ(groups.number("\xff"), 2U);
  CHECK_EQ(groups.number(odd), 0U);
  CHECK_EQ(groups[0].letter, 0xff);
  CHECK_THROWS(groups.number(""), std::invalid_argument);
}
