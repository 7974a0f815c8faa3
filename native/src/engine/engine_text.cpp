// Lines of VW text: the engine's way over them.
#include <cstring>

#include "engine/engine.hpp"
#include "data/text_parser.hpp"

namespace chacha {

bool Engine::parse_into(std::string_view line) {
  if (!parse_line(line, groups_, example_)) return false;
  text_names_.line = line;
  settle(text_names_);
  return true;
}

Progress Engine::advance_text(std::string_view text, std::size_t at, bool last, std::size_t limit) {
  std::size_t examples = 0;
  std::size_t work = 0;
  try {
    while (examples < limit && at < text.size()) {
      if (work > kWork) return {Status::kEnough, at, examples};
      const void* found = std::memchr(text.data() + at, '\n', text.size() - at);
      if (found == nullptr && !last) break;
      const char* stop = found == nullptr ? text.data() + text.size() : static_cast<const char*>(found);
      const auto end = static_cast<std::size_t>(stop - text.data());
      if (!parse_into(text.substr(at, end - at)) || !take_label()) return {Status::kBad, at, examples};
      const Status status = recorded_step();
      if (status == Status::kBegin || status == Status::kOverdue) return {status, at, examples};
      ++examples;
      at = found == nullptr ? end : end + 1;
      if (status == Status::kDecide) return {status, at, examples};
      work += banks_.front()->features() + example_.hashes.size() + 16;
    }
  } catch (...) {
    return stopped(at, examples);
  }
  return {Status::kFine, at, examples};
}

std::size_t Engine::pass_over(std::string_view text, int depth) {
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); ++lines) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const bool good = parse_into(text.substr(at, end - at)) && take_label();
    if (good && depth > 0) {
      derivation_.derive(example_, depth > 1, *names_);
      expand();
    }
    if (good && depth > 1) {
      learn_all();
      derivation_.observe(example_);
    }
    at = end + 1;
  }
  return lines;
}

}  // namespace chacha
