// Spoiled lines, one by one: parsed from a buffer that ends with the line, ordered, predicted and
// learned by a few models. Arguments: seconds (20), a seed (1).
#include <cmath>
#include <memory>

#include "data/text_parser.hpp"
#include "support/fuzz.hpp"

using namespace chacha;

namespace {

struct Models {
  Engine engine{18, best_kernel()};
  std::vector<std::uint32_t> numbers;

  Models() {
    Options root, power, hinge;
    power.power_t = 0.3F;
    power.l1 = 1e-4F;
    hinge.loss.kind = LossKind::kHinge;
    hinge.l2 = 1e-3F;
    numbers = {engine.start(18, root, {}), engine.start(18, power, {{"a", "b"}}),
               engine.start(6, hinge, {{"user", "a"}, {"b", "b"}})};
    contend();
  }
  void contend() {
    engine.set_contenders(
        {{numbers[0], false, 1 << 30}, {numbers[1], true, 1 << 30}, {numbers[2], true, 1 << 30}},
        numbers[0], 2, false);
  }
  // Replaces the second model by a copy of the first.
  void replace() {
    engine.stop(numbers[1]);
    numbers[1] =
        engine.start(18, Options(), {{"b", "b"}, {"a", "b"}}, static_cast<int>(numbers[0]));
    contend();
  }
};

void check_runs(const Example& example, std::string_view line) {
  std::uint32_t at = 0;
  for (const Run& run : example.runs) {
    require(run.begin == at && run.end >= run.begin, "runs follow each other", line);
    at = run.end;
  }
  require(at == example.hashes.size() && at == example.values.size(), "runs hold all features",
          line);
  for (const float value : example.values)
    require(std::isfinite(value) && value != 0.0F, "values are numbers", line);
}

void check_line(std::string_view line, const Groups& groups, Example& example) {
  check_runs(example, line);
  require(!example.labelled || std::isfinite(example.label), "labels are finite", line);
  require(std::isfinite(example.weight) && example.weight >= 0.0F, "weights are finite", line);
  require(std::isfinite(example.initial), "initial predictions are finite", line);
  const std::size_t features = example.hashes.size();
  std::vector<std::uint32_t> empty;
  example.order_runs(groups, empty);
  check_runs(example, line);
  require(example.hashes.size() == features, "ordering loses nothing", line);
  for (const Run& run : example.runs)
    require(run.begin < run.end && run.group < groups.size(), "runs are full", line);
}

}  // namespace

int main(int argc, char** argv) {
  const Deadline deadline(argc, argv);
  Rng rng(seed_of(argc, argv));
  std::vector<std::string> corpus = seed_lines();
  auto models = std::make_unique<Models>();
  auto groups = std::make_unique<Groups>();
  Example example;
  long long lines = 0;
  long long read = 0;
  for (; lines % 64 != 0 || !deadline.passed(); ++lines) {
    const auto size = static_cast<std::uint32_t>(corpus.size());
    const std::string line = spoiled(rng, corpus[rng.below(size)], corpus[rng.below(size)], 800);
    const std::unique_ptr<char[]> exact(new char[line.size()]);
    std::copy(line.begin(), line.end(), exact.get());
    const std::string_view text(exact.get(), line.size());
    if (lines % 20000 == 19999) {  // groups are never forgotten: start over
      models = std::make_unique<Models>();
      groups = std::make_unique<Groups>();
    }
    if (!parse_line(text, *groups, example)) continue;
    ++read;
    check_line(text, *groups, example);
    Engine& engine = models->engine;
    require(engine.parse(text), "a line that is read is read again", text);
    if (engine.take_label() && !rng.chance(8)) {
      if (engine.step() == Status::kDecide) models->contend();
    } else {
      engine.predict();
    }
    for (const std::uint32_t model : models->numbers) {
      require(std::isfinite(engine.raw(model)), "predictions are finite", text);
      require(!std::isnan(engine.standing(model).total), "sums are numbers", text);
    }
    if (rng.chance(500)) models->replace();
    if (corpus.size() < 2000) {
      corpus.push_back(line);
    } else if (rng.chance(4)) {
      corpus[seed_lines().size() + rng.below(1000)] = line;
    }
  }
  std::printf("fuzz_parser: %lld lines, %lld of them read, nothing broken\n", lines, read);
  return 0;
}
