// Words of texts: `re.findall(r"\w+", text.lower())`, counted.
#include "data/text_words.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"
#include "vw/hashing.hpp"

using namespace chacha;

namespace {

struct Counted {
  std::vector<std::uint32_t> hashes;
  std::vector<float> values;
};

std::string shown(const Counted& counted) {
  std::string all;
  for (std::size_t i = 0; i < counted.hashes.size(); ++i) {
    all += print("%u:%g ", counted.hashes[i], static_cast<double>(counted.values[i]));
  }
  return all;
}

std::string expected(const std::vector<std::pair<std::string, float>>& words) {
  Counted counted;
  for (const auto& [word, times] : words) {
    counted.hashes.push_back(hash_name("t=" + word, 9));
    counted.values.push_back(times);
  }
  return shown(counted);
}

}  // namespace

TEST(words_are_counted_in_the_order_in_which_they_first_stand) {
  WordCounter counter("t=", 9);
  const std::string nul("a\0b", 3);
  const std::pair<std::string, std::vector<std::pair<std::string, float>>> cases[] = {
      {"To be, or NOT to be", {{"to", 2}, {"be", 2}, {"or", 1}, {"not", 1}}},
      {"", {}},
      {" ,;\n", {}},
      {"x", {{"x", 1}}},
      {"x_1-x_1 9", {{"x_1", 2}, {"9", 1}}},
      {"[a]{z}`A@Z/0:9", {{"a", 2}, {"z", 2}, {"0", 1}, {"9", 1}}},
      {nul, {{"a", 1}, {"b", 1}}},
  };
  for (const auto& [text, words] : cases) {
    Counted counted;
    CHECK(counter.count(text, counted.hashes, counted.values));
    CHECK_EQ(shown(counted), expected(words));
  }
}

TEST(a_text_that_is_not_ascii_adds_nothing) {
  WordCounter counter("t=", 9);
  Counted counted;
  CHECK(counter.count("a", counted.hashes, counted.values));
  for (const char* text : {"b \xc3\xa9", "\x80", "b\xff"})
    CHECK(!counter.count(text, counted.hashes, counted.values));
  CHECK_EQ(shown(counted), expected({{"a", 1}}));
  CHECK(counter.count("b", counted.hashes, counted.values));
  CHECK_EQ(shown(counted), expected({{"a", 1}, {"b", 1}}));
}

TEST(many_words_and_many_texts) {
  WordCounter counter("t=", 9);
  for (int size : {1, 31, 32, 33, 1000, 5}) {
    std::string text;
    std::vector<std::pair<std::string, float>> words;
    for (int i = 0; i < size; ++i) words.emplace_back("w" + std::to_string(i), i % 3 + 1);
    for (int round = 0; round < 3; ++round) {
      for (const auto& [word, times] : words) {
        if (static_cast<float>(round) < times) text += word + ' ';
      }
    }
    for (int again = 0; again < 3; ++again) {
      Counted counted;
      CHECK(counter.count(text, counted.hashes, counted.values));
      CHECK_EQ(shown(counted), expected(words));
    }
  }
}
