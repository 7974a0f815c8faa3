// The words of a text as features `NAME=word`, in lower case; the value is how often a word occurs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chacha {

class WordCounter {
 public:
  // `prefix` comes before every word; `seed` is that of the group.
  WordCounter(std::string_view prefix, std::uint32_t seed)
      : name_(prefix), prefix_(prefix.size()), seed_(seed), entries_(64) {}

  // Adds the words of a text in order of their first occurrence. False if the text is not ASCII:
  // then nothing is added, and the caller must find the words.
  bool count(std::string_view text, std::vector<std::uint32_t>& hashes, std::vector<float>& values);

 private:
  struct Entry {
    std::uint32_t text = 0;  // number of the text it belongs to
    std::uint32_t hash = 0;
    std::size_t feature = 0;
  };
  struct Word {
    std::string_view letters;
    std::uint64_t times;
  };

  Word& find_or_add(std::string_view letters, std::uint32_t hash,
                    std::vector<std::uint32_t>& hashes);
  void next_text();
  void grow();

  std::string name_;  // the prefix, followed by a word
  std::size_t prefix_;
  std::uint32_t seed_;
  std::uint32_t text_ = 0;
  std::string lower_;
  std::vector<Entry> entries_;  // open addressing; the size is a power of two
  std::vector<Word> words_;     // of the current text
};

}  // namespace chacha
