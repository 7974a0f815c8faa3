// The screen with derived candidates: it equals a naive screen, and changes no model.
#include <array>
#include <cmath>

#include "rules/screen.hpp"
#include "support/check.hpp"
#include "support/naive_derivation.hpp"

using namespace chacha;

namespace {

using Named =
    std::map<std::string, std::vector<std::pair<std::uint32_t, float>>>;  // hashes and values
using Products = std::vector<std::vector<std::string>>;

// Residual screening as in src/chacha/rules/contest/screen.py.
struct NaiveScreen {
  struct Candidate {
    std::vector<std::string> product;
    std::uint32_t mask = 0;
    std::int64_t looks = 0;
    double gain = 0.0, norms = 0.0, learned = 0.0;
    std::map<std::uint32_t, std::array<double, 4>> cells;  // w, adaptive, norm, rate
  };
  using Places = std::vector<std::pair<std::uint32_t, double>>;

  double share, rate = 0.5;
  std::vector<Candidate> candidates;
  std::size_t turn = 0;
  std::int64_t rounds = 0;
  double credit = 0.0, low = 0.0, high = 0.0;

  static void visit(const Candidate& candidate, Named& groups, std::size_t depth, std::size_t start,
                    std::uint32_t half, double value, Places& out) {
    const auto& features = groups[candidate.product[depth]];
    for (std::size_t i = start; i < features.size(); ++i) {
      const double x = value * static_cast<double>(features[i].second);
      if (depth + 1 == candidate.product.size()) {
        if (x != 0.0) out.emplace_back((half ^ features[i].first) & candidate.mask, x);
        continue;
      }
      const bool same = candidate.product[depth + 1] == candidate.product[depth];
      visit(candidate, groups, depth + 1, same ? i : 0, kFnvPrime * (half ^ features[i].first), x,
            out);
    }
  }
  void look(Candidate& candidate, const Places& features, double residual) const {
    double guess = 0.0;
    for (const auto& [place, x] : features) guess += candidate.cells[place][0] * x;
    guess = std::min(std::max(guess, low), high);
    ++candidate.looks;
    candidate.gain += guess * (2.0 * residual - guess);
    const double error = residual - guess;
    const double square = 4.0 * error * error;
    if (!(square > 0.0)) return;
    double norms = 0.0, per_update = 0.0;
    for (const auto& [place, x] : features) {
      auto& cell = candidate.cells[place];
      const double size = std::fabs(x);
      cell[1] += square * (x * x);
      if (size > cell[2]) {
        if (cell[2] > 0.0) cell[0] *= cell[2] / size;
        cell[2] = size;
      }
      const double part = size / cell[2];
      norms += part * part;
      const double slow = std::sqrt(cell[1]) * cell[2];
      cell[3] = slow > 0.0 ? 1.0 / slow : 0.0;
      per_update += x * x * cell[3];
    }
    candidate.norms += norms;
    candidate.learned += 1.0;
    if (!(candidate.norms > 0.0)) return;
    const double factor = std::sqrt(candidate.learned / candidate.norms);
    const double update = error * (2.0 * rate) * factor / (1.0 + 2.0 * rate * per_update * factor);
    for (const auto& [place, x] : features)
      candidate.cells[place][0] += update * x * candidate.cells[place][3];
  }
  void learn(Named& groups, double residual, double least) {
    if (candidates.empty() || !std::isfinite(residual)) return;
    credit = std::min(credit + share * least, least);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      Candidate& candidate = candidates[turn];
      Places features;
      visit(candidate, groups, 0, 0, 0, 1.0,
            features);  // no product underflows here: as many as the width
      const auto wide = static_cast<double>(features.size());
      if (wide > 0.0 && wide <= least) {
        if (wide > credit) break;
        credit -= wide;
        look(candidate, features, residual);
      }
      turn = (turn + 1) % candidates.size();
      rounds += turn == 0 ? 1 : 0;
    }
    low = std::min(low, residual);
    high = std::max(high, residual);
  }
};

const Products& candidates() {
  static const Products all = {
      {"bins(a,3)"},
      {"bins(a,16)"},
      {"a", "b"},
      {"onehot(b)"},
      {"log(a)", "onehot(b)"},
      {"lag(label,3)"},
      {"bins(a,3)", "b"},
      {"cyclic(hour,24)"},
      {"ewma(b,0.25)"},
      {"bins(a,3)", "bins(a,3)"},
      {"own(f)"},
      {"a", "missing(a)"},
      {"missing(a)"},
      {"hour", "hour"},
      {"lag(a,2)", "a"},
      {"own(f)", "own(f)"},
      {"nothing"},
      {"nothing", "a"},
      {"bins(a,3)", "onehot(b)", "hour"},
      {"bins(hour,40)", "bins(hour,40)", "b"},
  };
  return all;
}

}  // namespace

TEST(derived_candidates_are_screened_as_a_naive_screen_does) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const double share = seed % 2 == 0 ? 1.0 : 0.1;
    const std::size_t live = seed % 3 == 0 ? 9 : 2;
    Groups groups;
    Derivation derivation(groups);
    Screen screen;
    NaiveDerivation naive_derivation(6);
    NaiveScreen naive{share, 0.5, {}, 0, 0, 0.0, 0.0, 0.0};
    derivation.turn_on(6);
    for (const DerivedGroup& one : derived_groups()) {
      const std::uint32_t source = one.source.empty() ? kLabel : groups.number(one.source);
      derivation.add(groups.number(one.name), kind_named(one.kind), source, one.parameter);
    }
    Rng rng(700 + seed);
    screen.set_rules(share, 0.5);
    std::vector<std::uint32_t> needed;  // some models have some of them
    for (const DerivedGroup& one : derived_groups()) {
      if (seed > 0 && rng.chance(4)) needed.push_back(groups.number(one.name));
    }
    derivation.need(derivation.find_needed(needed));
    std::map<std::string, std::int64_t> active;
    TextNames names;
    Example example;
    std::vector<std::uint32_t> empty;
    for (int i = 0; i < 500; ++i) {
      if (i % 100 == 0) {  // from time to time others are looked at, and some stay
        std::vector<NaiveScreen::Candidate> next;
        for (const auto& one : naive.candidates) {
          if (i != 300 && rng.chance(3)) next.push_back(one);
        }
        const std::size_t keep = next.size();
        for (const auto& product : candidates()) {
          const auto same = [&](const auto& one) { return one.product == product; };
          const auto stays = std::find_if(next.begin(), next.end(), same) != next.end();
          if (stays || rng.chance(4)) continue;
          next.emplace_back();
          next.back().product = product;
          next.back().mask = (1U << (rng.below(9) + 1)) - 1;
        }
        naive.candidates = next;
        std::vector<std::vector<std::uint32_t>> products;
        std::vector<std::uint32_t> cells;
        for (const auto& one : next) {
          cells.push_back(products.size() < keep ? 1U : one.mask + 1);  // kept: as they were
          products.emplace_back();
          for (const std::string& name : one.product) {
            products.back().push_back(groups.number(name));
          }
        }
        screen.set(products, cells, keep);
        CHECK_EQ(screen.kept(), keep);
        naive.turn = 0;
        naive.rounds = 0;
        naive.credit = 0.0;
      }
      const std::string line = numeric_line(rng);
      CHECK(parse_line(line, groups, example));
      Named named;
      for (const Run& run : example.runs) {
        for (std::uint32_t k = run.begin; derivation.is_derived(run.group) && k < run.end; ++k) {
          named[groups[run.group].name].emplace_back(example.hashes[k], example.values[k]);
        }
      }
      names.line = line;
      derivation.set_apart(example);
      example.order_runs(groups, empty);
      const std::vector<Raw> raw = raw_of(example, groups);
      for (const Raw& one : raw) named[one.group].emplace_back(one.hash, one.value);
      for (const DerivedGroup& one : derived_groups()) {
        if (named.count(one.name) > 0) continue;  // it was given
        const std::uint32_t seed_of_group = groups.seed(groups.number(one.name));
        for (const auto& [name, value] : naive_derivation.make(one, raw)) {
          named[one.name].emplace_back(hash_name(name, seed_of_group), value);
        }
      }
      derivation.derive(example, true, names);
      for (auto& [name, features] : named) {
        const std::uint32_t group = groups.number(name);
        for (auto& [hash, value] : features) {
          if (derivation.is_derived(group)) hash = derivation.code_of(group, hash);
        }
      }
      for (const Raw& one : raw) ++active[one.group];
      for (const std::uint32_t group : needed)
        active[groups[group].name] = 0;  // derived ones are not counted
      const double residual = rng.chance(50) ? std::nan("") : rng.real() * 4.0 - 2.0;
      screen.prepare(example, groups.size(), live);
      screen.learn(example, derivation, true, residual, live);
      naive.learn(named, residual, static_cast<double>(raw.size() * live));
      derivation.observe(example);
      naive_derivation.observe(raw, example.label, [&](const Raw& one) {
        return names.name(groups, groups.number(one.group), one.hash);
      });
      CHECK_EQ(screen.rounds(), naive.rounds);
      const auto scores = screen.scores();
      CHECK_EQ(scores.size(), naive.candidates.size());
      for (std::size_t k = 0; k < scores.size(); ++k) {
        CHECK_EQ(scores[k].looks, naive.candidates[k].looks);
        CHECK(check::same(scores[k].gain, naive.candidates[k].gain));
      }
    }
    for (const auto& [name, count] : active) CHECK_EQ(screen.active(groups.number(name)), count);
    std::int64_t looks = 0;
    for (const auto& candidate : naive.candidates) looks += candidate.looks;
    CHECK(looks > 10);
  }
}

// Groups that are derived for the screen are not features of a model.
TEST(a_screen_changes_no_model) {
  std::vector<std::string> ends;
  for (const double share : {0.0, 0.3, 1.0}) {
    Engine engine(18, best_kernel());
    engine.turn_on_derivation(6);
    add_derived_groups(engine);
    const std::vector<std::uint32_t> models = {
        engine.start(18, Options(), {{"bins(a,3)"}, {"bins(a,3)", "b"}}),
        engine.start(9, Options(), {{"lag(label,3)"}}), engine.start(18, Options(), {})};
    engine.set_contest_rules(ServedLoss(), {}, Blending(), share, 0.5);
    std::vector<Challenger> challengers;
    for (std::size_t k = 1; k < models.size(); ++k)
      challengers.push_back({models[k], std::int64_t{1} << 60, {}, {}});
    for (Challenger& one : challengers) {
      one.pairing.needed = 1e18;
      one.pairing.reserve = one.pairing.wealth = one.pairing.against = 0.5;
    }
    engine.set_contest({models[0], 0, 0.0, {}, false, Serving(), challengers});
    std::vector<std::vector<std::uint32_t>> products;
    for (const auto& product : candidates()) {
      products.emplace_back();
      for (const std::string& name : product)
        products.back().push_back(engine.groups().number(name));
    }
    engine.screen().set(products, std::vector<std::uint32_t>(products.size(), 64));
    Rng rng(720), other(721);
    for (int i = 0; i < 400; ++i) {
      const std::string line = numeric_line(rng);
      CHECK(engine.parse(line) && engine.take_label());
      if (engine.step() == Status::kDecide) confirm_contest(engine);
      if (i % 3 != 0) continue;
      CHECK(engine.parse(numeric_line(other, false)));
      engine.predict();
    }
    std::int64_t looks = 0;
    for (const Screen::Score& score : engine.screen().scores()) looks += score.looks;
    CHECK_EQ(looks > 0, share > 0);
    std::string end = picture(engine.derivation(), engine.groups());
    for (const std::uint32_t model : models)
      end += picture(engine.dump(model)) + picture(engine.state(model));
    ends.push_back(end);
    CHECK(ends.back() == ends.front());
  }
}
