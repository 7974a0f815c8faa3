// Parser of VW text: `[label [weight [initial]]] ['tag]|group[:weight] feature[:value] ...`.
// Twin: src/chacha/data/text_parser.py.
#pragma once

#include <string_view>

#include "data/example.hpp"
#include "data/groups.hpp"
#include "data/names.hpp"

namespace chacha {

// Parses one line, without its end, into `example`, exactly as Vowpal Wabbit does. False if VW
// would warn about the line or misread it: then the caller looks closer and mostly refuses it.
// `groups` may gain names even then. Never reads beyond the line.
bool parse_line(std::string_view line, Groups& groups, Example& example);

// The names of the features of a parsed line.
struct TextNames : Names {
  std::string_view line;
  std::string name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const override;
};

bool is_utf8(std::string_view text);

}  // namespace chacha
