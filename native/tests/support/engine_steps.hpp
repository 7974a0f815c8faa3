// Steps in the life of an engine, for tests that let each of them run out of memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "support/naive_derivation.hpp"

namespace chacha::oom {

constexpr std::int64_t kNever = std::int64_t{1} << 62;
inline const char* const kKnown = "|a f1 x2:0.5 |b f3 3:1.5 |user color:red |c f4";
inline const char* const kNumbers =
    "|a x:3.5 y:2 z1:7 new:4 |b k:2 m:70 |hour h:5 |bee w:9 |missing(a) x |own(f) q:2 r |a x:1";
inline const char* const kUnknown = "|a nobody knows:3 |b of:2 these |user color:pink |a b";

constexpr std::uint32_t kNoModel = 0xffffffffU;

struct World {
  Engine engine{18, best_kernel()};
  std::vector<std::uint32_t> models;  // or kNoModel
  std::size_t at = 0;                 // in the text or the table of the current step
  Contenders contenders;              // none: there is a contest

  std::vector<std::uint32_t> live() const {
    std::vector<std::uint32_t> numbers;
    for (const std::uint32_t model : models) {
      if (model != kNoModel) numbers.push_back(model);
    }
    return numbers;
  }
  void confirm() {
    if (contenders.all.empty()) {
      confirm_contest(engine);
    } else {
      contenders.confirm(engine);
    }
  }
  // An overdue decision is confirmed before the example is learned: if either fails, the step can
  // be repeated.
  void step(const Forecast* forecast = nullptr) {
    if (engine.step(forecast) != Status::kOverdue) return;
    confirm();
    engine.step(forecast);
  }
  void go_on(const BlockProgress& progress) {
    at = progress.at;
    if (progress.status == Status::kOverdue) confirm();
  }
};

using Step = std::function<void(World&)>;

inline Options with(float rate, float power, LossKind loss = LossKind::kSquared) {
  Options options;
  options.learning_rate = rate;
  options.power_t = power;
  options.loss.kind = loss;
  return options;
}

inline Step start(std::size_t slot, int bits, Options options,
                  std::vector<std::vector<std::string>> products, int from = -1,
                  float damping = 0.0F) {
  return [=](World& world) {
    world.models.reserve(slot + 1);
    const int source =
        from < 0 ? -1 : static_cast<int>(world.models[static_cast<std::size_t>(from)]);
    const std::uint32_t model = world.engine.start(bits, options, products, source, damping);
    if (slot == world.models.size()) world.models.push_back(model);
    world.models[slot] = model;
  };
}

inline Step stop(std::size_t slot) {
  return [slot](World& world) {
    world.engine.stop(world.models[slot]);
    world.models[slot] = kNoModel;
  };
}

inline Step contend() {
  return [](World& world) {
    std::vector<Contender> all;
    for (const std::uint32_t model : world.models) {
      all.push_back({model, model != world.models[0], kNever});
    }
    world.contenders.set(world.engine, std::move(all), 3);
  };
}

// A contest of all live models in its present state; new challengers begin.
inline Step contest(std::int64_t lease) {
  return [lease](World& world) {
    const ContestState& before = world.engine.contest().state();
    ContestState state{
        world.models[0], before.charged, before.level, {}, false, before.serving, {}};
    for (const std::uint32_t model : world.live()) {
      if (model == world.models[0]) continue;
      Challenger challenger{model, lease, {}, {}};
      challenger.pairing.needed = 41.0;
      challenger.pairing.reserve = challenger.pairing.wealth = challenger.pairing.against = 0.5;
      for (const Challenger& earlier : before.challengers) {
        if (earlier.model == model) challenger = earlier;
      }
      state.challengers.push_back(challenger);
    }
    state.serving.other = state.challengers.empty() ? Serving::kNoChallenger : 0;
    state.serving.share = 0.25;
    state.serving.max_distance = 1.0;
    world.engine.set_contest(std::move(state));
  };
}

inline Step screen(std::vector<std::vector<std::string>> products) {
  return [=](World& world) {
    std::vector<std::vector<std::uint32_t>> groups;
    for (const auto& names : products) {
      groups.emplace_back();
      for (const std::string& name : names)
        groups.back().push_back(world.engine.groups().number(name));
    }
    const std::vector<std::uint32_t> cells(products.size(), 64);
    world.engine.screen().set(std::move(groups), cells);
  };
}

inline Step undamp(std::size_t slot) {
  return [slot](World& world) { world.engine.undamp(world.models[slot]); };
}

inline Step learn(const std::string& line) {
  return [line](World& world) {
    CHECK(world.engine.parse(line));
    CHECK(world.engine.take_label());
    world.step();
  };
}

inline Step predict(const std::string& line) {
  return [line](World& world) {
    CHECK(world.engine.parse(line));
    world.engine.predict();
  };
}

inline Step advance(const std::string& text) {
  return [text](World& world) {
    while (world.at < text.size()) {
      world.go_on(world.engine.advance_text(text, world.at, true, 4));
    }
    world.at = 0;
  };
}

inline Step derive(std::size_t first) {
  return [first](World& world) {
    world.engine.turn_on_derivation(first);
    add_derived_groups(world.engine);
  };
}

// Rows of numbers: some are full, some have holes, and some labels are 0.
inline Step advance_rows(std::uint64_t seed) {
  return [seed](World& world) {
    constexpr std::size_t kRows = 24;
    Rng rng(seed);
    std::vector<double> labels(kRows);
    std::vector<float> x(kRows), k(kRows);
    for (std::size_t i = 0; i < kRows; ++i) {
      labels[i] = static_cast<double>(rng.below(3));
      x[i] = static_cast<float>(rng.below(i < 8 ? 2 : 40)) + (i < 16 ? 0.0F : 1.0F);
      k[i] = static_cast<float>(rng.below(6)) + (i < 16 ? 0.0F : 1.0F);
    }
    ColumnBlock block;
    for (const bool first : {true, false}) {
      Column column;
      column.name = first ? "x" : "k";
      column.numbers = (first ? x : k).data();
      const std::uint32_t group = world.engine.groups().number(first ? "a" : "b");
      column.hash = hash_name(column.name, world.engine.groups().seed(group));
      block.parts.push_back({group, {column}});
    }
    block.rows = kRows;
    block.labels = labels.data();
    while (world.at < kRows) {
      world.go_on(world.engine.advance_columns(block, world.at, kRows, 7));
    }
    world.at = 0;
  };
}

inline Step scale_labels(std::size_t rows) {
  return [rows](World& world) { world.engine.scale_labels(rows); };
}

inline std::string forecasts(World& world) {
  std::string all;
  for (const char* line : {kKnown, kUnknown, kNumbers}) {
    predict(line)(world);
    for (const std::uint32_t model : world.live()) all += print("%a ", world.engine.raw(model));
    if (!world.live().empty()) all += print("%a ", world.engine.served_now());
  }
  return all;
}

// A sequence of steps, with lines of a stream between them.
struct Life {
  std::vector<Step> steps;

  Life(unsigned seed, std::function<std::string(Rng&)> line) : rng_(seed), line_(std::move(line)) {}

  Life& then(Step step) {
    steps.push_back(std::move(step));
    return *this;
  }
  Life& lines(int n) {
    for (int i = 0; i < n; ++i) then(learn(line_(rng_)));
    return *this;
  }
  Life& text(int lines) {
    std::string all;
    for (int i = 0; i < lines; ++i) all += line_(rng_) + "\n";
    return then(advance(all));
  }

 private:
  Rng rng_;
  std::function<std::string(Rng&)> line_;
};

}  // namespace chacha::oom
