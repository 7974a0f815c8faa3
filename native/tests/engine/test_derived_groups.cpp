// The engine with derived groups: bit for bit what raw groups give, whatever other models live.
#include "support/derived_engine.hpp"

using namespace chacha;

TEST(a_derived_group_is_like_a_plain_one) {
  for (const char* kernel : kKernels) {
    if (kernel_named(kernel) == nullptr) continue;
    Setting all(model_specs(), kernel);
    std::vector<std::unique_ptr<Plain>> plain;
    for (const ModelSpec& one : model_specs())
      plain.push_back(std::make_unique<Plain>(one, kernel));
    Rng rng(600);
    for (int i = 0; i < 500; ++i) {
      const std::string line = numeric_line(rng);
      CHECK(all.engine.parse(line));
      for (const auto& one : plain) one->learn(line, all.engine);
      all.step();
      for (std::size_t k = 0; k < plain.size(); ++k) {
        const double alone = plain[k]->setting.engine.raw(plain[k]->setting.models[0]);
        CHECK(check::same(all.engine.raw(all.models[k]), alone));
      }
    }
    for (std::size_t k = 0; k < plain.size(); ++k) CHECK_EQ(all.seen(k), plain[k]->setting.seen(0));
  }
}

TEST(each_model_learns_as_if_it_were_alone) {
  Setting all(model_specs(), "plain");
  std::vector<std::unique_ptr<Setting>> alone;
  for (const ModelSpec& one : model_specs())
    alone.push_back(std::make_unique<Setting>(std::vector<ModelSpec>{one}, "plain"));
  Rng rng(601), other(602);
  for (int i = 0; i < 400; ++i) {
    const std::string line = numeric_line(rng), asked_for = numeric_line(other, false);
    all.learn(line);
    for (const auto& one : alone) one->learn(line);
    all.predict(asked_for);
    for (std::size_t k = 0; k < alone.size(); ++k) {
      alone[k]->predict(asked_for);
      CHECK(check::same(all.engine.raw(all.models[k]), alone[k]->engine.raw(alone[k]->models[0])));
    }
  }
  for (std::size_t k = 0; k < alone.size(); ++k) {
    CHECK_EQ(all.seen(k), alone[k]->seen(0));
    CHECK_EQ(picture(all.engine.derivation(), all.engine.groups()),
             picture(alone[k]->engine.derivation(), alone[k]->engine.groups()));
    CHECK_EQ(all.engine.observed().raw_features(), alone[k]->engine.observed().raw_features());
  }
}

TEST(predictions_in_between_change_nothing) {
  Setting quiet(model_specs()), asking(model_specs());
  Rng rng(603), other(604);
  for (int i = 0; i < 300; ++i) {
    const std::string line = numeric_line(rng);
    quiet.learn(line);
    asking.predict(numeric_line(other, false) +
                   print(" |a new%d:3 |fresh%d x:1 |missing(q%d) z", i, i, i));
    asking.predict(line.substr(line.find('|')));
    asking.learn(line);
    asking.engine.derived_features(derived_group_names());
    CHECK_EQ(picture(asking.engine.derivation(), asking.engine.groups()),
             picture(quiet.engine.derivation(), quiet.engine.groups()));
  }
  CHECK_EQ(asking.seen(), quiet.seen());
}

// Derived groups are not groups of the stream: the engine neither waits for them nor counts them.
TEST(derived_groups_are_not_observed) {
  Setting setting(model_specs());
  Rng rng(605);
  for (int i = 0; i < 60; ++i) setting.learn(numeric_line(rng));
  setting.engine.wait_for(Wait::kNewGroup);
  CHECK(setting.engine.parse("1 |a x:3 y:2 |b k:2 |hour h:3 |missing(a) x"));
  setting.engine.predict();
  CHECK(setting.engine.example().has_derived());
  CHECK(setting.engine.take_label());
  CHECK(setting.engine.step() ==
        Status::kFine);  // of the same example, which has derived groups now
  for (const std::string& name : derived_group_names()) {
    CHECK(!setting.engine.observed().has(setting.engine.groups().number(name)));
  }
  CHECK(setting.engine.parse("1 |fresh x"));
  setting.engine.predict();
  CHECK(setting.engine.take_label());
  CHECK(setting.engine.step() == Status::kBegin);
}

TEST(models_come_and_go) {
  Setting all({model_specs()[0]});
  std::vector<std::unique_ptr<Plain>> plain(model_specs().size());
  std::vector<std::uint32_t> numbers(model_specs().size(), 0);
  Rng rng(606);
  for (int i = 0; i < 900; ++i) {
    const auto k = 1 + rng.below(static_cast<std::uint32_t>(model_specs().size()) - 1);
    if (rng.chance(12) && plain[k] == nullptr) {
      numbers[k] = all.engine.start(model_specs()[k].bits, model_specs()[k].options(),
                                    model_specs()[k].products);
      plain[k] = std::make_unique<Plain>(model_specs()[k], "plain");
    } else if (rng.chance(25) && plain[k] != nullptr) {
      Setting& other = plain[k]->setting;
      CHECK_EQ(picture(all.engine.dump(numbers[k])), picture(other.engine.dump(other.models[0])));
      all.engine.stop(numbers[k]);
      plain[k] = nullptr;
    }
    const std::string line = numeric_line(rng);
    CHECK(all.engine.parse(line));
    for (const auto& one : plain) {
      if (one != nullptr) one->learn(line, all.engine);
    }
    all.step();
    for (std::size_t m = 0; m < plain.size(); ++m) {
      if (plain[m] == nullptr) continue;
      CHECK(check::same(all.engine.raw(numbers[m]),
                        plain[m]->setting.engine.raw(plain[m]->setting.models[0])));
    }
  }
}

TEST(nothing_is_derived_without_a_model_that_has_it) {
  Setting setting({model_specs()[0], model_specs()[1], {18, {{"bins(a,3)"}, {"bins(a,3)", "b"}}}},
                  "plain", 4);
  Rng rng(607);
  for (int i = 0; i < 20; ++i) setting.learn(numeric_line(rng));
  const std::string line = "1 |a x:3 y:2 |b k:2";
  const auto derived = [&] {
    setting.predict(line);
    return setting.engine.example().has_derived();
  };
  CHECK(derived());
  setting.engine.stop(setting.models[1]);
  CHECK(derived());
  setting.engine.stop(setting.models[2]);
  CHECK(!derived());
  setting.models.resize(1);
  setting.set_contenders();
  for (int i = 0; i < 20; ++i) setting.learn(numeric_line(rng));
  CHECK(!derived());
  setting.engine.start(18, Options(), {{"bins(a,3)", "b"}});  // in a product alone
  CHECK(derived());
}

TEST(the_order_of_getting_ready_does_not_matter) {
  const std::vector<ModelSpec> some = {model_specs()[2], model_specs()[3]};
  Setting usual(some, "plain", 6);
  Engine late(18, kernel_named("plain"));
  std::vector<std::uint32_t> models;
  CHECK_THROWS(late.start(18, Options(), {{"bins(a,16)"}}),
               std::invalid_argument);  // an unknown group
  // A product may have groups that are derived later, and derivation may be turned on last.
  Products products = {{"bins(a,16)", "b"}};
  const std::uint32_t early = late.start(18, some[0].options(), products);
  for (const DerivedGroup& one : derived_groups())
    late.add_derived(one.name, one.kind, one.source, one.parameter);
  for (const ModelSpec& one : some)
    models.push_back(late.start(one.bits, one.options(), one.products));
  late.turn_on_derivation(6);
  CHECK_THROWS(late.turn_on_derivation(0), std::invalid_argument);
  Contenders contenders;
  contenders.set(late, {{models[0], false, kNever}, {models[1], true, kNever}}, 1);
  usual.models.push_back(usual.engine.start(18, some[0].options(), products));
  Rng rng(608);
  for (int i = 0; i < 100; ++i) {
    const std::string line = numeric_line(rng);
    usual.learn(line);
    CHECK(late.parse(line) && late.take_label());
    if (late.step() == Status::kDecide) contenders.confirm(late);
  }
  models.push_back(early);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK_EQ(usual.seen(k), picture(late.dump(models[k])) + picture(late.state(models[k])));
  }
}

TEST(a_group_may_be_derived_after_it_was_multiplied) {
  Engine engine(18, kernel_named("plain"));
  engine.turn_on_derivation(3);
  engine.start(18, Options(), {{"lag(a,1)", "b"}});
  const auto learn = [&] {
    CHECK(engine.parse("1 |a x:2 |b y"));
    engine.learn();
    return engine.example().has_derived();
  };
  CHECK(!learn());
  engine.add_derived("lag(a,1)", "lag", "a", 1);
  CHECK(!learn());
  CHECK(learn());
}

TEST(a_copy_is_damped_in_what_is_new_to_it) {
  for (const char* kernel : kKernels) {
    if (kernel_named(kernel) == nullptr) continue;
    Setting setting({{18, {{"log(a)"}}}}, kernel, 4);
    for (int i = 1; i <= 10; ++i) setting.learn(print("%d |a x:%d |b k:%d", i % 4, i, i % 3 + 1));
    const int from = static_cast<int>(setting.models[0]);
    const Products more = {{"log(a)"}, {"bins(a,3)"}, {"bins(a,3)", "b"}};
    const std::uint32_t free = setting.engine.start(18, Options(), more, from, 0.0F);
    const std::uint32_t damped = setting.engine.start(18, Options(), more, from, 0.5F);
    const std::uint32_t undamped = setting.engine.start(18, Options(), more, from, 0.5F);
    setting.engine.undamp(undamped);
    CHECK_EQ(picture(setting.engine.dump(damped)), picture(setting.engine.dump(free)));
    using Cells = std::map<std::uint32_t, std::array<float, 3>>;
    const auto cells = [&](std::uint32_t model) {
      const Dump dump = setting.engine.dump(model);
      Cells found;
      for (std::size_t i = 0; i < dump.index.size(); ++i) {
        if (dump.norm[i] > 0) found[dump.index[i]] = {dump.w[i], dump.adaptive[i], dump.norm[i]};
      }
      return found;
    };
    const Cells before = cells(free);
    const float sum = before.at(kConstant & 0x3ffffU)[1];
    setting.learn(
        "3 |a x:2.5 |b k:2");  // half of 1, half of 4: x@1:0.5 x@4:0.5 by three knots of 1 to 4
    CHECK_EQ(picture(setting.engine.dump(undamped)), picture(setting.engine.dump(free)));
    int fresh = 0;
    const Cells slow = cells(damped), quick = cells(free);
    for (const auto& [index, cell] : slow) {
      if (before.count(index) > 0) {
        CHECK_EQ(cell[1], quick.at(index)[1]);
        continue;
      }
      ++fresh;
      CHECK_EQ(cell[1], 0.5F * sum * cell[2] * cell[2] + quick.at(index)[1]);
      CHECK(std::fabs(cell[0]) < std::fabs(quick.at(index)[0]));
    }
    CHECK_EQ(fresh, 4);  // two knots, and both with k
  }
}

TEST(damped_copies_are_not_changed_by_company) {
  for (const char* kernel : kKernels) {
    if (kernel_named(kernel) == nullptr) continue;
    Setting crowd({model_specs()[1]}, kernel), alone({model_specs()[1]});
    Rng rng(609);
    for (int i = 0; i < 60; ++i) {
      const std::string line = numeric_line(rng);
      crowd.learn(line);
      alone.learn(line);
    }
    const Products more = {
        {"bins(a,3)"}, {"bins(a,16)"}, {"lag(label,3)"}, {"bins(a,16)", "b"}, {"own(f)"}};
    for (Setting* each : {&crowd, &alone})
      each->models.push_back(each->engine.start(18, Options(), more, 0, 0.3F));
    std::vector<std::uint32_t> guests;
    for (int i = 0; i < 200; ++i) {
      if (i % 8 == 1) {
        guests.push_back(crowd.engine.start(18, Options(),
                                            {{"bins(a,16)"}, {"onehot(b)"}, {"bins(a,16)", "b"}},
                                            i % 3 == 0 ? 0 : -1, i % 3 == 0 ? 2.0F : 0.0F));
      }
      if (i % 8 == 5 && guests.size() > 6) {
        crowd.engine.stop(guests.front());
        guests.erase(guests.begin());
      }
      if (i % 20 == 9) crowd.engine.undamp(guests.back());
      const std::string line = numeric_line(rng);
      crowd.learn(line);
      alone.learn(line);
      CHECK(check::same(crowd.engine.raw(crowd.models[1]), alone.engine.raw(alone.models[1])));
    }
    CHECK_EQ(crowd.seen(1), alone.seen(1));
  }
}
