// The words of a text as features: each `NAME=word`, in lower case, valued with how often it stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chacha {

class WordCounter {
 public:
  // `prefix` stands before every word, `seed` is the group's.
  WordCounter(std::string_view prefix, std::uint32_t seed)
      : name_(prefix), prefix_(prefix.size()), seed_(seed), entries_(64) {}

  // Adds the words of a text in the order in which they first stand. False if the text is not
  // ASCII, where upper case and words are for others to tell; then nothing is added.
  bool count(std::string_view text, std::vector<std::uint32_t>& hashes, std::vector<float>& values);

 private:
  struct Entry {
    std::uint32_t text = 0;  // the number of the text it is of
    std::uint32_t hash = 0;
    std::size_t feature = 0;
  };
  struct Word {
    std::string_view letters;
    std::uint64_t times;
  };

  Word& find_or_add(std::string_view letters, std::uint32_t hash, std::vector<std::uint32_t>& hashes);
  void next_text();
  void grow();

  std::string name_;  // begins with the prefix
  std::size_t prefix_;
  std::uint32_t seed_;
  std::uint32_t text_ = 0;
  std::string lower_;
  std::vector<Entry> entries_;  // open addressing, as many as a power of two
  std::vector<Word> words_;     // of the text at hand
};

}  // namespace chacha
