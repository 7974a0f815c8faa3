// VW text to examples: `[label [weight [initial]]] ['tag]|group[:weight] feature[:value] ...`.
#pragma once

#include <string_view>

#include "features/derivation.hpp"
#include "data/example.hpp"

namespace chacha {

// Reads one line, without its end, into `example`. False if anything about the line is unusual
// enough that the caller should look at it again (and, mostly, refuse it): what is read here is
// read exactly as Vowpal Wabbit does, what VW would warn about or misread is not read here.
// `groups` may gain names even then. Never reads beyond the line.
bool parse_line(std::string_view line, Groups& groups, Example& example);

// The names of the features of a line that was read.
struct TextNames : Names {
  std::string_view line;
  std::string name(const Groups& groups, std::uint32_t group, std::uint32_t hash) const override;
};

// Whether bytes are UTF-8 text.
bool is_utf8(std::string_view text);

}  // namespace chacha
