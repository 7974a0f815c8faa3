// Learning from lines of VW text.
#include <cstring>

#include "data/text_parser.hpp"
#include "engine/engine.hpp"

namespace chacha {

bool Engine::parse(std::string_view line) {
  if (!parse_line(line, groups_, example_)) return false;
  text_names_.line = line;
  order_runs(text_names_);
  return true;
}

bool Engine::parse_row(std::string_view line, const std::vector<NumberCell>& cells,
                       const Names& names) {
  if (!parse_line(line, groups_, example_)) return false;
  example_.insert_numbers(cells);
  order_runs(names);
  return true;
}

BlockProgress Engine::advance_text(std::string_view text, std::size_t at, bool last,
                                   std::size_t limit) {
  std::size_t examples = 0;
  std::size_t work = 0;
  try {
    while (examples < limit && at < text.size()) {
      if (work > kWorkPerCall) return {Status::kPaused, at, examples};
      const void* newline = std::memchr(text.data() + at, '\n', text.size() - at);
      if (newline == nullptr && !last) break;
      const char* stop =
          newline == nullptr ? text.data() + text.size() : static_cast<const char*>(newline);
      const auto end = static_cast<std::size_t>(stop - text.data());
      if (!parse(text.substr(at, end - at)) || !take_label()) {
        return {Status::kBad, at, examples};
      }
      const Status status = recorded_step();
      if (status == Status::kBegin || status == Status::kOverdue) return {status, at, examples};
      ++examples;
      at = newline == nullptr ? end : end + 1;
      if (status == Status::kDecide) return {status, at, examples};
      work += work_of_example();
    }
  } catch (...) {
    return progress_after_failure(at, examples);
  }
  return {Status::kFine, at, examples};
}

}  // namespace chacha
