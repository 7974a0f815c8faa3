// One line of VW text: every part of the grammar, and its corner cases.
#include <cmath>
#include <memory>

#include "data/text_parser.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

struct Parsed {
  Groups groups;
  Example example;
  bool read;
  std::unique_ptr<char[]> bytes;  // as many as the line has, so that a sanitizer sees one too far

  explicit Parsed(std::string_view line) : bytes(new char[line.size()]) {
    std::copy(line.begin(), line.end(), bytes.get());
    read = parse_line({bytes.get(), line.size()}, groups, example);
  }

  // `name[hash:value ...]` of every run; the hashes are without the seed of the group.
  std::string runs() const {
    std::string all;
    for (const Run& run : example.runs) {
      const Group& group = groups[run.group];
      all += group.name + '[';
      for (std::uint32_t i = run.begin; i < run.end; ++i) {
        all += print("%s%u:%g", i > run.begin ? " " : "", example.hashes[i] - group.seed,
                     static_cast<double>(example.values[i]));
      }
      all += ']';
    }
    return all;
  }
};

bool reads(std::string_view line) { return Parsed(line).read; }

void gives(std::string_view line, const std::string& runs) {
  const Parsed parsed(line);
  if (!parsed.read) check::fail(__FILE__, __LINE__, std::string(line) + " is not read");
  CHECK_EQ(parsed.runs(), runs);
}

void head(std::string_view line, float label, float weight, float initial, std::string_view tag) {
  const Parsed parsed(line);
  if (!parsed.read) check::fail(__FILE__, __LINE__, std::string(line) + " is not read");
  CHECK(parsed.example.labelled);
  CHECK_EQ(parsed.example.label, label);
  CHECK_EQ(parsed.example.weight, weight);
  CHECK_EQ(parsed.example.initial, initial);
  CHECK_EQ(parsed.example.tag, tag);
}

}  // namespace

TEST(words_of_any_length_one_after_the_other) {
  const std::string_view words[] = {
      "a",         "bc",       "def", "ghij", "klmno",    "pqrstu", "vwxyzab", "cdefghij",
      "klmnopqrs", "7",        "7a",  "a7",   "\xc3\xa9", "\x7f",   "~",       "a=b",
      "0123456",   "x0123456", "-1",  ".",    "\x01",     "a\x01",  "'x",      "a\x1f_"};
  for (const std::string_view first : words) {
    for (const std::string_view second : words) {
      for (const std::string_view third : words) {
        for (const char* blank : {" ", "\t", "  "}) {
          std::string line = "1 |g";
          for (const std::string_view word : {first, second, third})
            line.append(blank).append(word);
          const Parsed parsed(line);
          CHECK(parsed.read);
          CHECK_EQ(parsed.example.hashes.size(), 3U);
          std::size_t i = 0;
          for (const std::string_view word : {first, second, third}) {
            CHECK_EQ(parsed.example.hashes[i++], hash_name(word, parsed.groups[0].seed));
          }
        }
      }
    }
  }
}

TEST(words_before_other_things) {
  const std::uint32_t x = hash_name("x", group_seed("g")) - group_seed("g");
  const std::string one = print("%u:1", x);
  gives("1 |g x x:2 x", "g[" + one + print(" %u:2 %u:1]", x, x));
  gives("1 |g x x:0 x      ", "g[" + one + " " + one + "]");
  gives("1 |g x |h 1 2 3 4 5", "g[" + one + "]h[1:1 2:1 3:1 4:1 5:1]");
  gives("1 |g x|h 1 2 3 4 5 6", "g[" + one + "]h[1:1 2:1 3:1 4:1 5:1 6:1]");
  gives("1 |g:2 x x x    ", print("g[%u:2 %u:2 %u:2]", x, x, x));
  gives("1 |g:0 x x x    ", "g[]");
}

TEST(numbers_with_e_plus_0_are_the_nearest_floats) {
  std::uint32_t digits = 1;
  for (int round = 0; round < 20000; ++round) {
    digits = digits * 1664525U + 1013904223U;
    std::string text = std::to_string(digits >> (round % 32));
    text.insert(static_cast<std::size_t>(round) % (text.size() + 1), ".");
    if (round % 3 == 0) text.insert(0, "-");
    const Parsed parsed("1 |g 1:" + text + "e+0 2:" + text + "e+0");
    CHECK(parsed.read);
    const float nearest = std::strtof(text.c_str(), nullptr);
    if (nearest == 0.0F) continue;
    CHECK_EQ(parsed.example.values[0], nearest);
    CHECK_EQ(parsed.example.values[1], nearest);
  }
  head("-1.5e+0 |", -1.5F, 1.0F, 0.0F, "");
  head("3e+0 2e+0 |", 3.0F, 2.0F, 0.0F, "");
  gives("1 |g 1:1e+01 2:1e+0", "g[1:10 2:1]");
  for (const char* value : {"1e+0x", "1e+0.5", "2e+", "1e+0e+0"})
    CHECK(!reads(std::string("1 |g 2:") + value + " 3"));
}

TEST(heads) {
  head("1 |a x", 1.0F, 1.0F, 0.0F, "");
  head("-1.5 2 |a x", -1.5F, 2.0F, 0.0F, "");
  head("1 2 0.25 |a x", 1.0F, 2.0F, 0.25F, "");
  head("1 2 0.25 'tag|a x", 1.0F, 2.0F, 0.25F, "tag");
  head("1 'tag |a x", 1.0F, 1.0F, 0.0F, "tag");
  head("1 tag|a x", 1.0F, 1.0F, 0.0F, "tag");
  head("  1   2  |a x", 1.0F, 2.0F, 0.0F, "");
  head("1 '|a x", 1.0F, 1.0F, 0.0F, "");
  head("1e2 |a x", 100.0F, 1.0F, 0.0F, "");
  head("1 0 |a x", 1.0F, 0.0F, 0.0F, "");
  head("123456789012 |a x", Parsed("123456789012 |a").example.label, 1.0F, 0.0F, "");
}

TEST(heads_without_a_label) {
  for (const char* line : {"|a x", " |a x", "'tag|a x", "'tag |a x", "tag|a x"}) {
    const Parsed parsed(line);
    CHECK(parsed.read);
    CHECK(!parsed.example.labelled);
  }
  CHECK_EQ(Parsed("1|a x").example.tag, std::string_view("1"));  // no blank before the bar: a tag
}

TEST(heads_that_are_refused) {
  for (const char* line :
       {"x |a x", "1 x |a x", "1 -2 |a x", "1 2 x |a x", "1 2 3 4 |a x", "1 2 3 4 5 6 7|a x",
        "nan |a x", "inf |a x", "1 inf |a x", "1 nan |a x", "1 1 inf |a x", "1e39 |a x", "1\t|a x",
        "\t1 |a x", "12ab |a x", "0x1 |a x"}) {
    CHECK(!reads(line));
  }
}

TEST(lines_without_a_bar_are_refused) {
  for (const char* line : {"", " ", "1", "1 2 3", "\r", "a b c"}) CHECK(!reads(line));
  Groups groups;
  Example example;
  CHECK(!parse_line({}, groups, example));
}

TEST(features) {
  gives("|a 1 2:3 7:0.5", "a[1:1 2:3 7:0.5]");
  gives("|a 1:2|b 3", "a[1:2]b[3:1]");
  gives("| 1 2", " [1:1 2:1]");
  gives("|", " []");
  gives("||", " [] []");
  gives("|a", "a[]");
  gives("|a |b |a 1", "a[]b[]a[1:1]");
  gives("|a   1     2  ", "a[1:1 2:1]");
  gives("|a\t1\t2", "a[1:1 2:1]");
  gives("|a 1:-2.5 2:1e2 3:.5 4:5.", "a[1:-2.5 2:100 3:0.5 4:5]");
  gives("|a 1:0 2:0.0 3:-0 4:1", "a[4:1]");
  gives("|a 4294967296 99999999999",
        print("a[0:1 %u:1]", static_cast<std::uint32_t>(99999999999ULL)));
}

TEST(named_features_are_hashed_with_their_group) {
  const Parsed parsed("|user age:3 7x |  age");
  CHECK(parsed.read);
  CHECK_EQ(parsed.example.hashes[0], hash_name("age", hash_name("user", 0)));
  CHECK_EQ(parsed.example.hashes[1], hash_name("7x", hash_name("user", 0)));
  CHECK_EQ(parsed.example.hashes[2], hash_name("age", 0));
}

TEST(anonymous_features_are_counted_in_their_group) {
  gives("|a :5 :6|b :7", "a[0:5 1:6]b[0:7]");
  gives("|a :5 :0 :6", "a[0:5 2:6]");
  gives("|a :5|a :6", "a[0:5]a[0:6]");
  gives("|a :5 3:2 :6", "a[0:5 3:2 1:6]");
}

TEST(words_as_values) {
  const Parsed parsed("|a color:red 3:blue :green x:+");
  CHECK(parsed.read);
  const std::uint32_t seed = hash_name("a", 0);
  const std::vector<std::uint32_t> hashes = {
      hash_name("red", hash_name("color", seed)), hash_name("blue", seed + 3),
      hash_name("green", hash_name("", seed)), hash_name("+", hash_name("x", seed))};
  CHECK((std::vector<std::uint32_t>(parsed.example.hashes.begin(), parsed.example.hashes.end()) ==
         hashes));
  for (const float value : parsed.example.values) CHECK_EQ(value, 1.0F);
  CHECK(!reads("|a color:red|b x"));  // VW takes the bar as part of the word
  CHECK(!reads("|a x:12ab"));
  CHECK(!reads("|a x:nan"));
  CHECK(!reads("|a x:inf"));
  CHECK(!reads("|a x:"));
  CHECK(!reads("|a x: y"));
  CHECK(!reads("|a :"));
}

TEST(weights_of_groups) {
  gives("|a:2 1 2:3", "a[1:2 2:6]");
  gives("|a:0.5 1|a 1", "a[1:0.5]a[1:1]");
  gives("|a:0 1 2", "a[]");
  gives("|a: 1 2", "a[]");  // no weight is the weight 0, as in VW
  gives("|a:-1 1", "a[1:-1]");
  CHECK(!reads("|a:x 1"));
  CHECK(!reads("|a:nan 1"));
  CHECK(!reads("|:2 1"));
  CHECK(!reads("|a:1e30 1:1e30"));
  const Parsed word("|a:2 color:red");
  CHECK(word.read);
  CHECK_EQ(word.example.values[0], 1.0F);
}

TEST(ends_of_lines) {
  gives("|a 1\r", "a[1:1]");
  gives("|a 1\r\r", "a[1:1]");
  gives("|a 1:2\r", "a[1:2]");
  CHECK(!reads("|a 1\r2"));
  CHECK(!reads("1\r |a 1"));
  CHECK(!reads("\r\r"));
}

TEST(zero_bytes_are_bytes) {
  using namespace std::string_view_literals;
  const Parsed parsed("1 |a x\0y:2 z"sv);
  CHECK(parsed.read);
  CHECK_EQ(parsed.example.hashes.size(), std::size_t{2});
  CHECK_EQ(parsed.example.hashes[0], hash_name("x\0y"sv, hash_name("a", 0)));
  CHECK_EQ(Parsed("|a\0b x"sv).groups[0].name, std::string("a\0b", 3));
  CHECK(!reads("1\0 |a x"sv));
}

TEST(utf8) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", "\xc2\x80", "\xe0\xa0\x80",
                           "\xf0\x90\x80\x80", "\xef\xbf\xbf", "\x7f"}) {
    CHECK(is_utf8(text));
    CHECK(reads(std::string("1 |a x") + text));
  }
  for (const char* text :
       {"\x80", "\xc3", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "\xf0\x9f\x98", "\xc3(",
        "\xe2(\xa1", "\xf0\x9f(\x80", "\xe2", "\xf0"}) {
    CHECK(!is_utf8(text));
    CHECK(!reads(std::string("1 |a x") + text));
  }
  gives("|\xc3\xa9t\xc3\xa9 1", "\xc3\xa9t\xc3\xa9[1:1]");
}

TEST(a_megabyte_line) {
  std::string line = "1 |a";
  while (line.size() < (std::size_t{1} << 20)) line += print(" %zu:0.5", line.size());
  const Parsed parsed(line);
  CHECK(parsed.read);
  CHECK_EQ(parsed.example.runs.size(), std::size_t{1});
  CHECK_EQ(parsed.example.hashes.size(),
           static_cast<std::size_t>(std::count(line.begin(), line.end(), ':')));
  CHECK(reads("1 |a " + std::string(std::size_t{1} << 20, '7')));
  CHECK(reads("1 |a x:" + std::string(std::size_t{1} << 20, '0')));
  CHECK(reads("1 |" + std::string(std::size_t{1} << 20, 'n') + " x"));
  CHECK(reads("1 |a" + std::string(std::size_t{1} << 20, ' ')));
  CHECK(!reads(std::string(std::size_t{1} << 20, ' ')));
}

TEST(many_groups) {
  std::string line = "1 ";
  for (int i = 0; i < 100000; ++i) line += print("|n%d x:%d ", i % 99999, i + 1);
  Parsed parsed(line);
  CHECK(parsed.read);
  CHECK_EQ(parsed.groups.size(), 99999U);
  CHECK_EQ(parsed.example.runs.size(), std::size_t{100000});
  std::vector<std::uint32_t> empty;
  parsed.example.order_runs(parsed.groups, empty);
  CHECK_EQ(parsed.example.runs.size(), std::size_t{100000});
  CHECK_EQ(parsed.example.values.back(), 100000.0F);
}

TEST(an_example_is_cleared_before_each_line) {
  Groups groups;
  Example example;
  CHECK(parse_line("1 2 3 'tag|a x |b y", groups, example));
  CHECK(parse_line("|a x", groups, example));
  CHECK(!example.labelled);
  CHECK_EQ(example.weight, 1.0F);
  CHECK_EQ(example.initial, 0.0F);
  CHECK(example.tag.empty());
  CHECK_EQ(example.runs.size(), std::size_t{1});
  CHECK_EQ(example.hashes.size(), std::size_t{1});
}
