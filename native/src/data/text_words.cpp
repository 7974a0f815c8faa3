#include "data/text_words.hpp"

#include <algorithm>

#include "vw/hashing.hpp"

namespace chacha {
namespace {

// The letters of words in lower case; 0 for all other characters.
struct Letters {
  char of[256];
  constexpr Letters() : of{} {
    for (char c = '0'; c <= '9'; ++c) of[static_cast<unsigned char>(c)] = c;
    for (char c = 'a'; c <= 'z'; ++c) {
      of[static_cast<unsigned char>(c)] = of[static_cast<unsigned char>(c - 'a' + 'A')] = c;
    }
    of[static_cast<unsigned char>('_')] = '_';
  }
};
constexpr Letters kLetters;

}  // namespace

// Entries of other texts count as empty.
void WordCounter::next_text() {
  words_.clear();
  if (++text_ != 0) return;
  std::fill(entries_.begin(), entries_.end(), Entry{});
  text_ = 1;
}

void WordCounter::grow() {
  std::vector<Entry> larger(2 * entries_.size());
  const std::size_t mask = larger.size() - 1;
  for (const Entry& entry : entries_) {
    if (entry.text != text_) continue;
    std::size_t at = entry.hash & mask;
    while (larger[at].text == text_) at = (at + 1) & mask;
    larger[at] = entry;
  }
  entries_.swap(larger);
}

WordCounter::Word& WordCounter::find_or_add(std::string_view letters, std::uint32_t hash,
                                            std::vector<std::uint32_t>& hashes) {
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = hash & mask;
  for (; entries_[at].text == text_; at = (at + 1) & mask) {
    Word& word = words_[entries_[at].feature];
    if (entries_[at].hash == hash && word.letters == letters) return word;
  }
  entries_[at] = {text_, hash, words_.size()};
  hashes.push_back(hash);
  words_.push_back({letters, 0});
  if (2 * words_.size() > entries_.size()) grow();
  return words_.back();
}

bool WordCounter::count(std::string_view text, std::vector<std::uint32_t>& hashes,
                        std::vector<float>& values) {
  unsigned char all = 0;
  lower_.resize(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    all |= c;
    lower_[i] = kLetters.of[c];
  }
  if (all >= 0x80) return false;
  next_text();
  const char* p = lower_.c_str();  // ends with a 0
  const char* const last = p + lower_.size();
  for (; p < last; ++p) {
    const char* const begin = p;
    while (*p != 0) ++p;
    if (p == begin) continue;
    const std::string_view letters(begin, static_cast<std::size_t>(p - begin));
    name_.resize(prefix_);
    name_.append(letters);
    ++find_or_add(letters, hash_name(name_, seed_), hashes).times;
  }
  for (const Word& word : words_) values.push_back(static_cast<float>(word.times));
  return true;
}

}  // namespace chacha
