// The first rows: when they are learned again, and that all models then begin again.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/spread.hpp"
#include "engine/first_rows.hpp"
#include "support/challengers.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

// Keeps a row of so many features.
void keep(FirstRows& first, std::uint32_t features, bool numbers = false, float value = 1.0F) {
  Example& full = first.full();
  full.clear();
  full.open(0, 'a');
  for (std::uint32_t i = 0; i < features; ++i) full.add(i, value);
  if (numbers) full.add_reads();
  full.close();
  first.prepare(full);
  first.add();
}

std::vector<std::size_t> due_at(std::size_t limit) {
  FirstRows first(limit);
  std::vector<std::size_t> due;
  while (!first.is_full()) {
    keep(first, 1);
    if (first.is_due()) due.push_back(first.size());
  }
  CHECK_EQ(first.size(), limit);
  return due;
}

Options slow() {
  Options options;
  options.learning_rate = 0.1F;
  return options;
}

// A contest of a champion and two challengers, on labels in units of their scale.
struct ScaledModels {
  Engine engine;
  std::vector<std::uint32_t> models;
  std::vector<double> served;

  explicit ScaledModels(std::size_t rows, LossKind kind = LossKind::kSquared)
      : engine(18, &kPlainKernel) {
    Options options = slow();
    options.loss.kind = kind;
    models.push_back(engine.start(18, options, {}));
    models.push_back(engine.start(18, options, {{"a", "b"}}));
    models.push_back(engine.start(10, options, {{"b", "b"}}));
    engine.set_contest_rules(ServedLoss{kind}, {}, Blending(), 0.25, 0.5);
    engine.set_contest(contest_of(models[0], {challenger(models[1]), challenger(models[2])}));
    Groups& groups = engine.groups();
    engine.screen().set({{groups.number("a"), groups.number("c")}}, {64});
    engine.scale_labels(rows);
  }
  void learn(double y, const std::string& features, const char* weight = "") {
    CHECK(engine.parse(print("%.17g %s", y, weight) + features) && engine.take_label());
    if (engine.step() == Status::kDecide) confirm_contest(engine);
    served.push_back(engine.served_raw());
  }
  const LabelMap& map() const { return engine.label_map(models[0]); }
  std::string seen() {
    std::string all;
    for (const std::uint32_t model : models) {
      all += picture(engine.dump(model)) + picture(engine.state(model));
    }
    return all;
  }
};

// The same models without a scale, which learn whatever label they are given.
struct PlainModels {
  Engine engine{18, &kPlainKernel};
  std::vector<std::uint32_t> models;

  PlainModels() {
    models.push_back(engine.start(18, slow(), {}));
    models.push_back(engine.start(18, slow(), {{"a", "b"}}));
    models.push_back(engine.start(10, slow(), {{"b", "b"}}));
  }
  void learn(float label, const std::string& features, float weight = 1.0F) {
    CHECK(engine.parse("0 " + features));
    engine.example().label = label;
    engine.example().weight = weight;
    engine.learn();
  }
  std::string seen() {
    std::string all;
    for (const std::uint32_t model : models) {
      all += picture(engine.dump(model)) + picture(engine.state(model));
    }
    return all;
  }
};

struct Row {
  double y;
  std::string features;
};

std::vector<Row> rows_of(std::uint64_t seed, std::size_t n) {
  Rng rng(seed);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = rng.real();
    const std::uint32_t k = rng.below(4);
    rows.push_back({1000.0 + 50.0 * x + 7.0 * k + rng.real(),
                    print("|a x:%.6g f%u |b k%u w:%.3g |c z%u", x, rng.below(3), k, rng.real(),
                          rng.below(2))});
  }
  return rows;
}

Spread spread_of_labels(const std::vector<Row>& rows, std::size_t begin, std::size_t end) {
  std::vector<double> labels;
  for (std::size_t i = begin; i < end; ++i) labels.push_back(rows[i].y);
  return spread_of(labels.data(), labels.size());
}

float on_scale(double y, const Spread& scale) {
  return scale.scale > 0.0 ? static_cast<float>((y - scale.centre) / scale.scale) : 0.0F;
}

}  // namespace

TEST(first_rows_are_due_at_powers_of_two_and_at_the_limit) {
  CHECK((due_at(64) == std::vector<std::size_t>{1, 2, 4, 8, 16, 32, 64}));
  CHECK((due_at(11) == std::vector<std::size_t>{1, 2, 4, 8, 11}));
  CHECK((due_at(1) == std::vector<std::size_t>{1}));
}

TEST(rows_with_many_features_are_fewer) {
  FirstRows first(64);
  const auto quarter = static_cast<std::uint32_t>(FirstRows::kMostFeatures / 4);
  for (int i = 0; i < 3; ++i) keep(first, quarter);
  CHECK(!first.is_full() && !first.is_due());
  keep(first, quarter - 1);
  CHECK(!first.is_full() && first.is_due());
  keep(first, 1);
  CHECK(first.is_full() && first.is_due());
}

// A table keeps a place for them. A cell that was read as a number counts, whatever it is.
TEST(absent_features_do_not_count) {
  const auto all = static_cast<std::uint32_t>(FirstRows::kMostFeatures);
  for (const float value : {0.0F, kAbsent}) {
    FirstRows places(64), cells(64);
    keep(places, all, false, value);
    CHECK(!places.is_full());
    keep(cells, all, true, value);
    CHECK(cells.is_full());
  }
}

TEST(a_row_that_is_prepared_and_not_added_is_replaced) {
  FirstRows first(4);
  Example& full = first.full();
  full.open(3, 'c');
  full.add(7, 1.5F);
  full.close();
  first.prepare(full);
  first.prepare(full);
  CHECK_EQ(first.size(), std::size_t{0});
  full.values[0] = 2.5F;
  first.prepare(full);
  first.add();
  CHECK_EQ(first.size(), std::size_t{1});
  CHECK_EQ(first.row(0).full.values[0], 2.5F);
}

TEST(a_row_is_kept_with_its_label_and_its_derived_groups) {
  FirstRows first(4);
  Example& full = first.full();
  full.open(3, 'c');
  for (const std::uint32_t hash : {7U, 8U, 9U}) full.add(hash, 1.0F);
  full.close();
  Example learned;  // less a feature that is at its centre
  learned.set_label(16777217.0);
  learned.weight = 2.0F;
  learned.base = 5.0;
  learned.open(3, 'c');
  learned.add(7, 0.5F);
  learned.add(8, 0.25F);
  learned.close();
  learned.begin_derived();
  for (const std::uint32_t group : {4U, 5U}) {
    learned.open(group, 'd');
    learned.add(10 * group, 3.0F);
    learned.add(10 * group + 1, 4.0F);
    learned.close();
  }
  first.prepare(learned);
  first.add();
  const FirstRows::Row& row = first.row(0);
  CHECK(row.full.labelled);
  CHECK_EQ(row.full.target, 16777217.0);
  CHECK_EQ(row.full.label, 16777216.0F);
  CHECK(check::same(row.full.weight, 2.0F) && check::same(row.full.base, 5.0));
  CHECK_EQ(row.full.hashes.size(), std::size_t{3});
  CHECK(check::same(row.full.values[0], 1.0F));
  CHECK_EQ(row.hashes.size(), std::size_t{4});
  CHECK(row.hashes[0] == 40 && row.hashes[3] == 51);
  CHECK(row.values[2] == 3.0F && row.values[3] == 4.0F);
  CHECK_EQ(row.runs.size(), std::size_t{2});
  CHECK(row.runs[0].group == 4 && row.runs[0].begin == 0 && row.runs[0].end == 2);
  CHECK(row.runs[1].group == 5 && row.runs[1].begin == 2 && row.runs[1].end == 4);
}

TEST(rows_that_wait_are_forgotten) {
  FirstRows first(3);
  for (int i = 0; i < 3; ++i) keep(first, 4);
  CHECK(first.is_full() && !first.is_waiting());
  first.wait();
  CHECK(first.is_waiting() && !first.is_full());
  CHECK_EQ(first.size(), std::size_t{0});
  keep(first, static_cast<std::uint32_t>(FirstRows::kMostFeatures - 1));
  CHECK(!first.is_waiting() && !first.is_full());  // earlier features do not count
  CHECK_EQ(first.size(), std::size_t{1});
}

// In between, the scale is that of the last time.
TEST(all_models_begin_again_on_each_new_scale) {
  const std::vector<Row> rows = rows_of(1, 30);
  constexpr std::size_t kLimit = 11;
  ScaledModels scaled(kLimit);
  for (std::size_t n = 1; n <= rows.size(); ++n) {
    scaled.learn(rows[n - 1].y, rows[n - 1].features);
    std::size_t shown = 1;
    while (2 * shown <= std::min(n, kLimit)) shown *= 2;
    if (n >= kLimit) shown = kLimit;
    const Spread scale = spread_of_labels(rows, 0, shown);
    PlainModels expected;
    for (std::size_t i = 0; i < n; ++i) {
      expected.learn(on_scale(rows[i].y, scale), rows[i].features);
    }
    CHECK_EQ(scaled.seen(), expected.seen());
    for (const std::uint32_t model : scaled.models) {
      CHECK_EQ(scaled.engine.label_map(model).shift, scale.centre);
      CHECK_EQ(scaled.engine.label_map(model).scale, scale.scale);
    }
  }
}

TEST(models_that_begin_again_are_other_incarnations) {
  ScaledModels scaled(12);
  std::size_t n = 0;
  for (const Row& row : rows_of(13, 40)) {
    std::vector<std::uint64_t> before, after;
    for (const std::uint32_t m : scaled.models) before.push_back(scaled.engine.incarnation(m));
    scaled.learn(row.y, row.features);
    for (const std::uint32_t m : scaled.models) after.push_back(scaled.engine.incarnation(m));
    const bool again = ++n == 1 || n == 2 || n == 4 || n == 8 || n == 12;
    for (std::size_t i = 0; i < before.size(); ++i) CHECK_EQ(after[i] > before[i], again);
  }
}

TEST(a_model_that_starts_among_the_first_rows_begins_again_with_the_others) {
  const std::vector<Row> rows = rows_of(2, 12);
  ScaledModels late(8), early(8);
  late.engine.stop(late.models[2]);
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (n == 5) {
      CHECK_EQ(late.engine.start(10, slow(), {{"b", "b"}}), late.models[2]);
    }
    if (n == 0) {  // without the stopped one
      late.engine.set_contest(contest_of(late.models[0], {challenger(late.models[1])}));
    } else if (n == 5) {
      ContestState state = late.engine.contest().state();
      state.challengers.push_back(challenger(late.models[2]));
      late.engine.set_contest(std::move(state));
    }
    late.learn(rows[n].y, rows[n].features);
    early.learn(rows[n].y, rows[n].features);
  }
  CHECK_EQ(late.seen(), early.seen());
  CHECK_EQ(picture(late.engine.contest()), picture(early.engine.contest()));
}

TEST(a_copy_among_the_first_rows_begins_again_empty) {
  const std::vector<Row> rows = rows_of(3, 12);
  ScaledModels scaled(8);
  std::uint32_t copy = 0;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (n == 6) copy = scaled.engine.start(18, slow(), {}, static_cast<int>(scaled.models[0]));
    scaled.learn(rows[n].y, rows[n].features);
  }
  CHECK_EQ(picture(scaled.engine.dump(copy)), picture(scaled.engine.dump(scaled.models[0])));
  CHECK_EQ(picture(scaled.engine.state(copy)), picture(scaled.engine.state(scaled.models[0])));
}

// The champion's level is the mean of its losses on the scale that is known in the end.
TEST(the_first_rows_are_charged_again) {
  const std::vector<Row> rows = rows_of(4, 8);
  ScaledModels scaled(8);
  for (const Row& row : rows) scaled.learn(row.y, row.features);
  const Spread scale = spread_of_labels(rows, 0, rows.size());
  PlainModels expected;
  double level = 0.0;
  Surprise surprise;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    expected.learn(on_scale(rows[i].y, scale), rows[i].features);
    const double served = scale.centre + scale.scale * expected.engine.raw(expected.models[0]);
    const double loss = (served - rows[i].y) * (served - rows[i].y);
    level += 1.0 / static_cast<double>(i + 1) * (loss - level);
    const auto t = static_cast<std::int64_t>(i + 1);
    surprise.add(loss, std::nan(""), t, t);
  }
  const ContestState& state = scaled.engine.contest().state();
  CHECK(std::fabs(state.level - level) < 1e-9 * level);
  CHECK(std::fabs(state.surprise.usual - surprise.usual) < 1e-9 * surprise.usual);
  CHECK(std::fabs(state.surprise.recent - surprise.recent) < 1e-9 * surprise.recent);
  CHECK_EQ(state.charged, 8);
  for (const Challenger& each : state.challengers) {
    CHECK_EQ(each.pairing.n, 8);
    CHECK_EQ(each.blend_gain.n, 8);
    CHECK_EQ(each.pairing.number, 1);
    CHECK_EQ(each.pairing.needed, 41.0);
  }
  CHECK_EQ(scaled.engine.screen().examples(), 8);
  CHECK_EQ(scaled.engine.served().n, 8);  // what was served stays
  CHECK_EQ(scaled.engine.t(), 8);
}

TEST(predictions_are_in_units_of_the_label_from_the_second_row_on) {
  const std::vector<Row> rows = rows_of(5, 40);
  ScaledModels scaled(16);
  for (const Row& row : rows) scaled.learn(row.y, row.features);
  const std::vector<double>& served = scaled.served;
  CHECK_EQ(served[0], 0.0);
  CHECK_EQ(served[1], rows[0].y);
  for (std::size_t i = 1; i < served.size(); ++i) CHECK(served[i] > 900.0 && served[i] < 1200.0);
}

TEST(a_row_without_weight_is_not_one_of_the_first) {
  const std::vector<Row> rows = rows_of(6, 20);
  ScaledModels with(8), without(8);
  for (const Row& row : rows) {
    with.learn(1e9, row.features, "0 ");
    with.learn(row.y, row.features);
    without.learn(row.y, row.features);
    CHECK_EQ(with.map().shift, without.map().shift);
    CHECK_EQ(with.map().scale, without.map().scale);
  }
  CHECK_EQ(with.engine.contest().state().charged, without.engine.contest().state().charged);
  CHECK_EQ(with.engine.contest().state().level, without.engine.contest().state().level);
}

TEST(the_first_rows_keep_their_weights_and_initial_predictions) {
  const std::vector<Row> rows = rows_of(7, 8);
  ScaledModels scaled(8);
  std::vector<double> rest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    scaled.learn(rows[i].y, rows[i].features, i % 2 == 0 ? "3 " : "1 250 ");
    rest.push_back(rows[i].y - (i % 2 == 0 ? 0.0 : 250.0));
  }
  std::vector<double> sorted = rest;
  const Spread scale = spread_of(sorted.data(), sorted.size());
  PlainModels expected;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    expected.learn(on_scale(rest[i], scale), rows[i].features, i % 2 == 0 ? 3.0F : 1.0F);
  }
  CHECK_EQ(scaled.seen(), expected.seen());
  CHECK(scaled.engine.has_bases());
}

TEST(labels_that_are_all_equal_are_waited_for) {
  std::vector<Row> rows = rows_of(8, 40);
  for (const std::size_t equal : {4U, 5U, 10U, 23U}) {
    std::vector<Row> changed = rows;
    for (std::size_t i = 0; i < equal; ++i) changed[i].y = 1005.0;
    ScaledModels scaled(4);
    for (std::size_t n = 1; n <= changed.size(); ++n) {
      scaled.learn(changed[n - 1].y, changed[n - 1].features);
      const double served = scaled.served.back();
      if (n > 1 && n <= equal + 1) CHECK_EQ(served, 1005.0);
      if (n == equal) CHECK_EQ(scaled.map().scale, 0.0);
      if (n <= equal) continue;
      std::size_t shown = 1;  // and the last of the equal ones
      while (2 * shown <= std::min<std::size_t>(n - equal, 4)) shown *= 2;
      const Spread scale = spread_of_labels(changed, equal - 1, equal + shown);
      CHECK_EQ(scaled.map().shift, scale.centre);
      CHECK_EQ(scaled.map().scale, scale.scale);
      PlainModels expected;  // it learns nothing of the equal ones
      for (std::size_t i = equal; i < n; ++i) {
        expected.learn(on_scale(changed[i].y, scale), changed[i].features);
      }
      CHECK_EQ(scaled.seen(), expected.seen());
      if (n < equal + 4) continue;
      CHECK_EQ(scaled.engine.contest().state().charged, static_cast<std::int64_t>(n - equal));
    }
  }
}

TEST(labels_that_are_always_equal_are_predicted) {
  ScaledModels scaled(4);
  for (const Row& row : rows_of(9, 50)) scaled.learn(-7.25, row.features);
  const std::vector<double>& served = scaled.served;
  for (std::size_t i = 1; i < served.size(); ++i) CHECK_EQ(served[i], -7.25);
  CHECK_EQ(scaled.engine.served().n, 50);
}

TEST(the_scale_of_the_labels_changes_no_bit_if_it_is_a_power_of_two) {
  const std::vector<Row> rows = rows_of(10, 60);
  for (const int power : {-30, 40}) {
    for (const LossKind kind : {LossKind::kSquared, LossKind::kQuantile}) {
      ScaledModels plain(16, kind), other(16, kind);
      for (const Row& row : rows) {
        plain.learn(row.y, row.features);
        other.learn(std::ldexp(row.y, power), row.features);
      }
      CHECK_EQ(other.seen(), plain.seen());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK_EQ(other.served[i], std::ldexp(plain.served[i], power));
      }
    }
  }
}

TEST(features_of_the_first_rows_are_counted_once) {
  const std::vector<Row> rows = rows_of(11, 40);
  ScaledModels scaled(16);
  PlainModels plain;
  for (const Row& row : rows) {
    scaled.learn(row.y, row.features);
    CHECK(plain.engine.parse("0 " + row.features));
    plain.engine.observe();
    CHECK_EQ(scaled.engine.observed().raw_features(), plain.engine.observed().raw_features());
  }
}

TEST(no_row_is_kept_after_the_first_ones) {
  const std::vector<Row> rows = rows_of(12, 200);
  ScaledModels scaled(64);
  for (std::size_t i = 0; i < 63; ++i) scaled.learn(rows[i].y, rows[i].features);
  const std::size_t before = scaled.engine.bytes();
  CHECK(scaled.engine.calls_test());
  scaled.learn(rows[63].y, rows[63].features);
  CHECK(scaled.engine.bytes() < before);
  const LabelMap known = scaled.map();
  for (std::size_t i = 64; i < rows.size(); ++i) scaled.learn(1e6 * rows[i].y, rows[i].features);
  CHECK_EQ(scaled.map().shift, known.shift);
  CHECK_EQ(scaled.map().scale, known.scale);
}
