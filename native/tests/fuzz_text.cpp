// Spoiled texts of many lines: learned in chunks, and line by line; both must end the same.
// Arguments: seconds (20), a seed (1).
#include <cmath>
#include <cstring>
#include <memory>

#include "support/fuzz.hpp"
#include "support/naive_derivation.hpp"

using namespace chacha;

namespace {

struct Pass {
  Engine engine{18, best_kernel()};
  std::vector<std::uint32_t> models;
  Contenders contenders;
  std::size_t learned = 0;
  std::size_t bad = 0;

  explicit Pass(bool derives) {
    Options power;
    power.power_t = 0.4F;
    if (derives) {
      engine.turn_on_derivation(3);
      add_derived_groups(engine);
      models = {
          engine.start(18, Options(), {{"bins(a,3)"}, {"lag(a,2)"}, {"missing(a)"}}),
          engine.start(18, power,
                       {{"bins(a,16)"}, {"onehot(b)"}, {"bins(a,16)", "onehot(b)"}, {"log(a)"}}),
          engine.start(5, Options(),
                       {{"ewma(b,0.25)"}, {"lag(label,3)"}, {"user", "alpha"}, {"b", "own(f)"}})};
    } else {
      models = {engine.start(18, Options(), {}), engine.start(18, power, {{"a", "b"}}),
                engine.start(5, Options(), {{"user", "alpha"}, {"b", "b"}})};
    }
    contenders.set(
        engine, {{models[0], false, 1 << 30}, {models[1], true, 7}, {models[2], true, 1 << 30}}, 2);
    engine.record().wanted = engine.record().tags_wanted = true;
    engine.wait_for(Wait::kNewGroup);
  }

  // Does what the engine returned for.
  void confirm(Status status) {
    contenders.confirm(engine);
    if (status == Status::kBegin) engine.wait_for(Wait::kNewGroup);
  }
};

// As in Python: the text comes in pieces, and bad lines are skipped.
void in_chunks(Pass& pass, std::string_view text, Rng& rng) {
  std::size_t at = 0;
  std::size_t known = 0;  // bytes that have come so far
  while (at < text.size()) {
    known = std::min(text.size(), std::max(known, at) + rng.below(400));
    const std::string_view so_far = text.substr(0, known);
    const bool last = known == text.size();
    const BlockProgress progress = pass.engine.advance_text(so_far, at, last, rng.below(6) + 1);
    require(progress.at >= at && progress.at <= known, "the place moves on", text);
    pass.confirm(progress.status);
    at = progress.at;
    pass.learned += progress.examples;
    if (progress.status != Status::kBad) continue;
    const void* end = std::memchr(so_far.data() + at, '\n', so_far.size() - at);
    require(end != nullptr || last, "a bad line is whole", text);
    at = end == nullptr ? known
                        : static_cast<std::size_t>(static_cast<const char*>(end) - text.data()) + 1;
    ++pass.bad;
  }
}

void line_by_line(Pass& pass, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::unique_ptr<char[]> line(new char[end - at]);
    std::memcpy(line.get(), text.data() + at, end - at);
    const std::string_view exact(line.get(), end - at);
    BlockProgress progress{Status::kBegin, 0, 0};
    while (progress.status == Status::kBegin) {
      progress = pass.engine.advance_text(exact, 0, true, 1);
      pass.confirm(progress.status);
    }
    if (exact.empty() || progress.status == Status::kBad) {
      ++pass.bad;
    } else {
      require(progress.at == exact.size() && progress.examples == 1, "one line is one example",
              exact);
      ++pass.learned;
    }
    at = end + 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Deadline deadline(argc, argv);
  Rng rng(seed_of(argc, argv));
  long long texts = 0;
  std::size_t learned = 0;
  std::size_t bad = 0;
  for (; !deadline.passed(); ++texts) {
    std::string text;
    for (std::uint32_t n = rng.below(40) + 1; n > 0; --n) {
      const auto& seeds = seed_lines();
      const std::string& line = seeds[rng.below(static_cast<std::uint32_t>(seeds.size()))];
      const std::string own = rng.chance(3) ? numeric_line(rng) : random_line(rng);
      text += rng.chance(4)   ? spoiled(rng, rng.chance(3) ? own : line, line, 300)
              : rng.chance(2) ? own
                              : line;
      text += rng.chance(20) ? "\r\n" : "\n";
    }
    if (rng.chance(2)) text = spoiled(rng, text, text, 6000);
    const std::unique_ptr<char[]> exact(new char[text.size()]);
    std::memcpy(exact.get(), text.data(), text.size());
    const std::string_view view(exact.get(), text.size());
    const bool derives = rng.chance(2);
    Pass chunks(derives), single(derives);
    in_chunks(chunks, view, rng);
    line_by_line(single, view);
    require(chunks.learned == single.learned && chunks.bad == single.bad,
            "as many lines are learned", view);
    const bool same =
        picture(chunks.engine, chunks.models) == picture(single.engine, single.models);
    require(same, "chunks end the same", view);
    learned += chunks.learned;
    bad += chunks.bad;
  }
  std::printf("fuzz_text: %lld texts, %zu lines learned, %zu refused, nothing broken\n", texts,
              learned, bad);
  return 0;
}
