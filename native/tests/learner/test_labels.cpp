// A label for each lane: a model learns what it learns in a bank where all share its label.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "learner/live_bank.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

constexpr std::uint32_t kExamples = 120;

constexpr std::uint32_t kColumns = 9;  // of group n, which every line has

// A product of more than 32 features is narrow if one model alone has it: those of lanes 2 and 4.
std::vector<std::string> products_of(std::uint32_t lane) {
  if (lane == 2) return {"nn"};
  if (lane == 4) return {"nnn", "ab"};
  static const std::vector<std::vector<std::string>> wide = {{}, {"ab"}, {"bc", "bnn"}, {"cu"}};
  return wide[lane % wide.size()];
}

std::string random_wide_line(Rng& rng) {
  std::string line = random_line(rng, true, true) + " |n";
  for (std::uint32_t i = 0; i < kColumns; ++i) line += print(" %u:%.3f", i, rng.real() * 4 - 2);
  return line;
}

enum class Losses { kSquared, kLogistic, kMixed };

Options options_of(Losses kind, std::uint32_t lane) {
  Options options;
  options.learning_rate = 0.1F + 0.2F * static_cast<float>(lane % 4);
  if (kind == Losses::kLogistic) options.loss.kind = LossKind::kLogistic;
  if (kind != Losses::kMixed) return options;
  static const LossKind losses[] = {LossKind::kSquared, LossKind::kLogistic, LossKind::kQuantile,
                                    LossKind::kHinge, LossKind::kPoisson};
  options.loss.kind = losses[lane % 5];
  if (lane % 3 == 1) options.power_t = 0.3F;
  if (lane % 4 == 3) options.l1 = 1e-4F;
  if (lane % 4 == 2) options.l2 = 1e-3F;
  return options;
}

float random_label(Rng& rng, LossKind loss) {
  if (loss == LossKind::kLogistic || loss == LossKind::kHinge) return rng.chance(2) ? 1.0F : -1.0F;
  if (loss == LossKind::kPoisson) return static_cast<float>(rng.below(5));
  return static_cast<float>(rng.below(2001)) / 100.0F - 10.0F;
}

struct Stream {
  std::vector<std::string> lines;
  std::vector<std::vector<float>> labels;  // by example and lane
};

Stream random_stream(Rng& rng, Losses kind, std::uint32_t lanes) {
  Stream stream;
  for (std::uint32_t t = 0; t < kExamples; ++t) {
    stream.lines.push_back(random_wide_line(rng));
    std::vector<float> labels(256, std::numeric_limits<float>::quiet_NaN());  // of no model
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      labels[lane] = random_label(rng, options_of(kind, lane).loss.kind);
    }
    stream.labels.push_back(std::move(labels));
  }
  return stream;
}

// The predictions of a lane, then its weights and state.
using Records = std::vector<std::string>;

void note(const LiveBank& models, std::uint32_t lane, std::string& record) {
  record += print("%a\n", static_cast<double>(models.predictions[lane]));
}

// All lanes in one bank; one of them stops halfway.
Records learn_together(const char* kernel, Losses kind, std::uint32_t lanes, const Stream& stream) {
  LiveBank models(18, kernel);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    models.start(options_of(kind, lane), products_of(lane));
  }
  Records records(lanes);
  for (std::uint32_t t = 0; t < kExamples; ++t) {
    if (t == kExamples / 2) {
      records[1] += models.picture(1);
      models.bank.stop(1);
    }
    models.learn(stream.lines[t], stream.labels[t]);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      if (lane != 1 || t < kExamples / 2) note(models, lane, records[lane]);
    }
  }
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (lane != 1) records[lane] += models.picture(lane);
  }
  return records;
}

// A bank for each lane, in which all models share the label.
Records learn_apart(const char* kernel, Losses kind, std::uint32_t lanes, const Stream& stream) {
  Records records(lanes);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    LiveBank models(18, kernel);
    models.start(options_of(kind, lane), products_of(lane));
    const std::uint32_t end = lane == 1 ? kExamples / 2 : kExamples;
    for (std::uint32_t t = 0; t < end; ++t) {
      models.learn_labelled(stream.lines[t], stream.labels[t][lane]);
      note(models, 0, records[lane]);
    }
    records[lane] += models.picture(0);
  }
  return records;
}

}  // namespace

TEST(lanes_with_different_labels_learn_as_banks_with_one_label_each) {
  for (const Losses kind : {Losses::kSquared, Losses::kLogistic, Losses::kMixed}) {
    for (const std::uint32_t lanes : {3U, 5U, 8U, 17U, 31U}) {
      Rng rng(lanes);
      const Stream stream = random_stream(rng, kind, lanes);
      const Records apart = learn_apart("plain", kind, lanes, stream);
      for (const char* kernel : {"plain", "avx2", "avx512"}) {
        if (kernel_named(kernel) == nullptr) continue;
        const Records together = learn_together(kernel, kind, lanes, stream);
        for (std::uint32_t lane = 0; lane < lanes; ++lane) CHECK_EQ(together[lane], apart[lane]);
      }
    }
  }
}

TEST(equal_labels_learn_as_the_label_of_the_example) {
  for (const char* kernel : {"plain", "avx2", "avx512"}) {
    if (kernel_named(kernel) == nullptr) continue;
    LiveBank by_lane(18, kernel), shared(18, kernel);
    Rng rng(7);
    for (std::uint32_t lane = 0; lane < 6; ++lane) {
      for (LiveBank* models : {&by_lane, &shared}) {
        models->start(options_of(Losses::kSquared, lane), products_of(lane));
      }
    }
    for (std::uint32_t t = 0; t < kExamples; ++t) {
      const std::string line = random_wide_line(rng);
      const float label = random_label(rng, LossKind::kSquared);
      by_lane.learn(line, std::vector<float>(by_lane.bank.width(), label));
      shared.learn_labelled(line, label);
    }
    for (std::uint32_t lane = 0; lane < 6; ++lane) {
      CHECK_EQ(by_lane.picture(lane), shared.picture(lane));
    }
  }
}
