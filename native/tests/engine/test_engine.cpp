// The engine: the same stream in any chunks gives the same, and it returns where it should.
#include <cmath>
#include <stdexcept>

#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

constexpr std::int64_t kNever = std::int64_t{1} << 62;

// An engine with a champion, two challengers and a baseline; two of them share a bank.
struct Setting {
  Engine engine;
  std::vector<std::uint32_t> models;
  Contenders contenders;

  explicit Setting(const char* kernel = "plain", std::int64_t lease = 40)
      : engine(18, kernel_named(kernel)) {
    Options slow;
    slow.learning_rate = 0.1F;
    models.push_back(engine.start(18, Options(), {}));
    models.push_back(engine.start(18, slow, {{"a", "b"}}));
    models.push_back(engine.start(10, Options(), {{"user", "a"}, {"b", "b"}}));
    models.push_back(engine.start(18, Options(), {}));
    SampleComplexity evidence;
    evidence.burn_in = 5;
    engine.set_rules({LossKind::kSquared}, evidence);
    contenders.set(
        engine,
        {{models[0], false, kNever}, {models[1], true, lease}, {models[2], true, lease + 7}}, 2);
    engine.set_baseline(models[3]);
  }

  std::string seen() { return picture(engine, models); }
  Status step(std::string_view line) {
    CHECK(engine.parse(line));
    CHECK(engine.take_label());
    const Status status = engine.step();
    if (status == Status::kDecide) contenders.confirm(engine);
    return status;
  }
};

std::string text_of(std::uint64_t seed, int n, bool ends = true) {
  Rng rng(seed);
  std::string text;
  for (int i = 0; i < n; ++i) text += random_line(rng) + (ends || i + 1 < n ? "\n" : "");
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void went(const BlockProgress& progress, Status status, std::size_t at, std::size_t examples) {
  CHECK(progress.status == status);
  CHECK_EQ(progress.at, at);
  CHECK_EQ(progress.examples, examples);
}

}  // namespace

TEST(chunks_of_any_size_give_the_same) {
  for (const bool ends : {true, false}) {
    const std::string text = text_of(20, 300, ends);
    Setting single;
    for (const std::string& line : lines_of(text)) single.step(line);
    CHECK_EQ(single.engine.t(), 300);
    CHECK(single.engine.served().n == 300 && single.engine.baseline_standing().n == 300);
    for (const char* kernel : {"plain", "avx2", "avx512"}) {
      if (kernel_named(kernel) == nullptr) continue;
      Setting chunks(kernel);
      Rng rng(21);
      std::size_t at = 0;
      std::size_t learned = 0;
      while (at < text.size()) {
        const std::size_t size = std::min(text.size(), at + rng.below(4000));
        const bool last = size == text.size();
        const BlockProgress progress = chunks.engine.advance_text(
            std::string_view(text).substr(0, size), at, last, rng.below(9) + 1);
        CHECK(progress.status == Status::kFine || progress.status == Status::kDecide);
        CHECK(progress.at >= at);
        chunks.contenders.confirm(chunks.engine);
        at = progress.at;
        learned += progress.examples;
      }
      CHECK_EQ(learned, std::size_t{300});
      CHECK_EQ(chunks.seen(), single.seen());
    }
  }
}

TEST(a_line_without_an_end_waits_for_more) {
  Setting setting;
  const std::string_view text = "1 |a x\n2 |b y";
  const BlockProgress first = setting.engine.advance_text(text, 0, false, 10);
  went(first, Status::kFine, 7, 1);
  CHECK_EQ(setting.engine.advance_text(text, 7, false, 10).examples, std::size_t{0});
  const BlockProgress rest = setting.engine.advance_text(text, 7, true, 10);
  CHECK_EQ(rest.at, text.size());
  CHECK_EQ(rest.examples, std::size_t{1});
  CHECK_EQ(setting.engine.advance_text(text, text.size(), true, 10).examples, std::size_t{0});
  CHECK_EQ(setting.engine.advance_text(text, text.size() + 5, true, 10).examples, std::size_t{0});
  CHECK_EQ(setting.engine.advance_text({}, 0, true, 10).examples, std::size_t{0});
  CHECK_EQ(setting.engine.advance_text(text, 0, true, 0).examples, std::size_t{0});
}

TEST(a_bad_row_stops_before_it_is_learned) {
  Setting setting;
  const std::string text = "1 |a x\nno label |a x\n2 |a x\n";
  const BlockProgress first = setting.engine.advance_text(text, 0, true, 10);
  went(first, Status::kBad, 7, 1);
  const std::string before = setting.seen();
  const BlockProgress again = setting.engine.advance_text(text, 7, true, 10);
  CHECK(again.status == Status::kBad);
  CHECK_EQ(again.at, std::size_t{7});
  CHECK_EQ(setting.seen(), before);
  CHECK_EQ(setting.engine.advance_text(text, 21, true, 10).examples, std::size_t{1});
  for (const char* line : {"|a x", "\n", "1\n", "1 -1 |a x\n", "1 |a x:nan\n"}) {
    CHECK(setting.engine.advance_text(line, 0, true, 1).status == Status::kBad);
  }
}

TEST(a_new_group_is_waited_for) {
  Setting setting;
  setting.engine.wait_for(Wait::kNewGroup);
  const std::string text = "1 |a x\n2 |a y |new z\n";
  const BlockProgress first = setting.engine.advance_text(text, 0, true, 10);
  went(first, Status::kBegin, 0, 0);
  CHECK_EQ(setting.engine.t(), 0);
  CHECK(setting.engine.observed().has(setting.engine.groups().number("a")));
  // The engine insists until the caller has begun, even if the group is known now.
  went(setting.engine.advance_text(text, 0, true, 10), Status::kBegin, 0, 0);
  setting.engine.wait_for(Wait::kNewGroup);
  went(setting.engine.advance_text(text, 0, true, 10), Status::kBegin, 7, 1);
  setting.engine.wait_for(Wait::kNextExample);
  CHECK(setting.engine.advance_text(text, 7, true, 10).status == Status::kBegin);
  CHECK(setting.engine.advance_text(text, 7, true, 10).status == Status::kBegin);
  setting.engine.wait_for(Wait::kNothing);
  CHECK(setting.engine.advance_text(text, 7, true, 10).status == Status::kFine);
  CHECK_EQ(setting.engine.t(), 2);
}

TEST(an_empty_group_is_a_new_group) {
  Setting setting;
  CHECK(setting.step("1 |a x") == Status::kFine);
  setting.engine.wait_for(Wait::kNewGroup);
  CHECK(setting.step("1 |a x |hollow") == Status::kBegin);
  setting.engine.wait_for(Wait::kNewGroup);
  CHECK(setting.step("1 |a x |hollow") == Status::kFine);
}

TEST(the_engine_stops_when_a_lease_ends) {
  Setting setting("plain", 3);
  const std::string text = "1 |a x\n2 |a y\n3 |a z\n1 |a x\n";
  const BlockProgress progress = setting.engine.advance_text(text, 0, true, 10);
  CHECK(progress.status == Status::kDecide);
  CHECK_EQ(progress.examples, std::size_t{3});
  CHECK_EQ(progress.at, std::size_t{21});
  CHECK(setting.engine.advance_text(text, 21, true, 10).status == Status::kOverdue);
  setting.contenders.confirm(setting.engine);
  CHECK(setting.engine.advance_text(text, 21, true, 10).status ==
        Status::kDecide);  // it has not been renewed
}

TEST(an_engine_that_decides_anyway_stops_after_every_example) {
  Setting setting;
  setting.engine.set_contenders({{setting.models[0], false, kNever}}, setting.models[0], 0, true);
  CHECK(setting.engine.advance_text("1 |a x\n2 |a y\n", 0, true, 10).examples == 1);
}

TEST(examples_without_weight_do_not_count) {
  Setting setting;
  setting.step("1 0 |a x |b y");
  CHECK_EQ(setting.engine.standing(setting.models[0]).n, 0);
  CHECK_EQ(setting.engine.served().n, 1);
  CHECK_EQ(setting.engine.served().weight, 0.0);
  CHECK_EQ(picture(setting.engine.dump(setting.models[0])), std::string());
}

TEST(what_is_served_is_recorded) {
  Setting setting;
  Record& record = setting.engine.record();
  record.wanted = record.tags_wanted = true;
  const std::string text = "1 't1|a x\n2 |a x\n3 't3 |b y\n";
  CHECK_EQ(setting.engine.advance_text(text, 0, true, 10).examples, std::size_t{3});
  CHECK((record.labels == std::vector<double>{1, 2, 3}));
  CHECK((record.tags == std::vector<std::string>{"t1", "", "t3"}));
  CHECK_EQ(record.predictions.size(), std::size_t{3});
  CHECK_EQ(record.served_by.size(), std::size_t{3});
  CHECK_EQ(record.predictions[0], 0.0);
  CHECK(record.predictions[1] > 0.0);
  record.clear();
  record.wanted = false;
  setting.engine.advance_text(text, 0, true, 10);
  CHECK(record.labels.empty());
}

TEST(a_record_grows_by_doubling) {
  Record record;
  record.wanted = true;
  std::size_t moves = 0;
  for (std::size_t i = 0; i < 20000; ++i) {
    const std::size_t room = record.labels.capacity();
    record.reserve(1);
    moves += record.labels.capacity() != room ? 1U : 0U;
    CHECK(record.predictions.capacity() > i && record.served_by.capacity() > i);
    record.labels.push_back(0.0);
    record.predictions.push_back(0.0);
    record.served_by.push_back(0);
  }
  CHECK(moves < 30);
}

TEST(a_forecast_is_charged_instead_of_a_prediction) {
  Setting setting;
  CHECK(setting.engine.parse("3 |a x"));
  CHECK(setting.engine.take_label());
  const Forecast forecast{{{setting.models[1], 2.5}}, 1.0, 2.0, 0.5};
  setting.engine.step(&forecast);
  CHECK_EQ(setting.engine.served().total, 4.0);
  CHECK_EQ(setting.engine.baseline_standing().total, 1.0);
  CHECK_EQ(setting.engine.constant_standing().total, 6.25);
  CHECK_EQ(setting.engine.constant(), 3.0);
  CHECK_EQ(setting.engine.standing(setting.models[0]).n, 0);
  CHECK_EQ(setting.engine.standing(setting.models[1]).n, 1);
}

TEST(the_best_constant_is_charged_before_it_learns_the_label) {
  Setting setting;
  for (const char* line : {"1 |a x", "4 2 |a x", "7 0 |a x", "5 |a x"}) setting.step(line);
  const ProgressiveLoss& constant = setting.engine.constant_standing();
  CHECK_EQ(constant.total, 1.0 + 2 * 9.0 + 4.0);
  CHECK_EQ(constant.weight, 4.0);
  CHECK_EQ(setting.engine.constant(), 3.5);
}

TEST(an_incarnation_is_never_repeated) {
  Engine engine(18, best_kernel());
  const std::uint32_t first = engine.start(18, {}, {});
  const std::uint32_t second = engine.start(18, {}, {});
  CHECK_EQ(engine.number_limit(), 2U);
  const std::uint64_t before = engine.incarnation(second);
  CHECK(before > engine.incarnation(first));
  engine.stop(second);
  CHECK_EQ(engine.incarnation(second), 0U);
  CHECK_EQ(engine.incarnation(7), 0U);
  CHECK_EQ(engine.start(18, {}, {}), second);
  CHECK(engine.incarnation(second) > before);
  CHECK_EQ(engine.baseline(), -1);
}

// Predictions below the smallest label become that label: 0 as long as no label is below it.
TEST(a_prediction_below_0_is_raised_to_plain_0) {
  for (const char* kernel : {"plain", "avx2", "avx512"}) {
    if (kernel_named(kernel) == nullptr) continue;
    for (const float power : {0.5F, 0.4F}) {  // with and without VW's defaults
      for (const LossKind loss : {LossKind::kSquared, LossKind::kQuantile}) {
        Options options;
        options.power_t = power;
        options.loss.kind = loss;
        options.constant = false;
        Engine engine(18, kernel_named(kernel));
        const std::uint32_t model = engine.start(18, options, {});
        const std::uint32_t copy = engine.start(18, options, {}, static_cast<int>(model));
        CHECK(check::same(engine.state(model).low, 0.0F));
        CHECK(engine.parse("1 |a x:1"));
        engine.learn();
        CHECK(engine.parse("1 |a x:-3"));
        engine.predict();
        CHECK(check::same(engine.raw(model), 0.0) && check::same(engine.raw(copy), 0.0));
        engine.learn();
        CHECK(check::same(engine.raw(model), 0.0) && check::same(engine.raw(copy), 0.0));
      }
    }
  }
}

TEST(labels_are_what_the_loss_takes) {
  Setting setting;
  auto label = [&](const char* line) {
    CHECK(setting.engine.parse(line));
    return setting.engine.take_label() ? setting.engine.example().label : NAN;
  };
  setting.engine.set_rules({LossKind::kLogistic}, {});
  CHECK_EQ(label("0 |a x"), -1.0F);
  CHECK_EQ(label("1 |a x"), 1.0F);
  CHECK(std::isnan(label("2 |a x")));
  CHECK(std::isnan(label("|a x")));
  setting.engine.set_rules({LossKind::kPoisson}, {});
  CHECK(std::isnan(label("-1 |a x")));
  CHECK_EQ(label("7 |a x"), 7.0F);
}

TEST(features_are_counted_at_the_observed_bits) {
  for (const int bits : {3, 18, 31}) {  // of the models: fewer bits distinguish fewer features
    Engine engine(18, &kPlainKernel);
    Engine counts(18, &kPlainKernel);
    const std::uint32_t model = engine.start(bits, Options(), {});
    engine.set_contenders({{model, false, kNever}}, model, 0, false);
    for (const std::string& line : lines_of(text_of(23, 200))) {
      CHECK(engine.parse(line) && engine.take_label());
      engine.step();
      CHECK(counts.parse(line));
      counts.observe();
      CHECK_EQ(engine.observed().raw_features(), counts.observed().raw_features());
    }
  }
}

TEST(a_bank_without_models_is_dropped) {
  Setting setting;
  for (const std::string& line : lines_of(text_of(22, 200))) setting.step(line);
  const std::size_t before = setting.engine.bytes();
  setting.engine.stop(setting.models[2]);  // the only one with 10 bits
  CHECK(setting.engine.bytes() < before);
  const std::uint32_t again = setting.engine.start(10, Options(), {});
  CHECK_EQ(again, setting.models[2]);
  CHECK(setting.engine.dump(again).index.empty());
  CHECK(setting.engine.parse("1 |a x") && setting.engine.take_label());
  CHECK_THROWS(setting.engine.step(), std::logic_error);  // it was a contender
  setting.engine.set_contenders({{setting.models[0], false, kNever}, {again, true, kNever}},
                                setting.models[0], 1, false);
  CHECK(setting.step("1 |a x") == Status::kFine);
  CHECK_EQ(setting.engine.standing(again).n, 1);
}

TEST(an_idle_engine_is_small) {
  Engine engine(31, best_kernel());
  CHECK(engine.bytes() < 16384);
  engine.start(31, Options(), {{"a", "b"}});
  CHECK(engine.bytes() < 32768);
}

TEST(wrong_calls_are_refused) {
  Engine engine(18, &kPlainKernel);
  CHECK(engine.parse("1 |a x"));
  CHECK_THROWS(engine.step(), std::logic_error);
  CHECK_THROWS(engine.dump(0), std::out_of_range);
  const std::uint32_t model = engine.start(18, Options(), {});
  CHECK_THROWS(engine.step(), std::logic_error);  // no model serves
  CHECK_THROWS(engine.start(18, Options(), {{}}), std::invalid_argument);
  CHECK_THROWS(engine.start(18, Options(), {{"a", ""}}), std::invalid_argument);
  CHECK_THROWS(engine.start(0, Options(), {}), std::invalid_argument);
  CHECK_THROWS(engine.start(33, Options(), {}), std::invalid_argument);
  const std::size_t before = engine.bytes();
  CHECK_THROWS(engine.start(20, Options(), {}, static_cast<int>(model)), std::invalid_argument);
  CHECK_EQ(engine.bytes(), before);  // no empty bank stays behind
  CHECK_THROWS(engine.start(18, Options(), {}, 7), std::out_of_range);
  engine.stop(model);
  CHECK_THROWS(engine.stop(model), std::out_of_range);
  CHECK_THROWS(engine.state(model), std::out_of_range);
  CHECK_THROWS(engine.set_contenders({{model, false, kNever}}, model, 0, false), std::out_of_range);
}
