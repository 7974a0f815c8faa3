// The contest and the screen for Python; part of module.cpp.
#pragma once

#include <cmath>
#include <tuple>
#include <utility>

#include "bindings/engine.hpp"

using namespace nb::literals;

namespace chacha {
namespace {

// The fields of a Pairing, in the order of src/chacha/drivers/native_state.py.
template <class P>
auto fields_of_pairing(P& p) {
  return std::tie(p.number, p.needed, p.n, p.reserve, p.wealth, p.against, p.scale, p.blocks,
                  p.block_n, p.block_gain, p.block_harm, p.blocks_since_restart, p.total, p.squares,
                  p.clips, p.champion_loss, p.loss);
}

template <class H>
auto fields_of_blend_gain(H& h) {
  return std::tie(h.n, h.none, h.half, h.whole, h.squares, h.square_distance);
}

// The values of a tuple of references.
template <class... T>
std::tuple<T...> values_of(const std::tuple<T&...>&);

using PairingTuple = decltype(values_of(fields_of_pairing(std::declval<Pairing&>())));
using BlendGainTuple = decltype(values_of(fields_of_blend_gain(std::declval<BlendGain&>())));
using ChallengerTuple = std::tuple<std::uint32_t, std::int64_t, PairingTuple, BlendGainTuple>;
using ServingTuple = std::tuple<std::int64_t, double, double, double, double>;  // -1: no blend

Challenger challenger_of(const ChallengerTuple& fields) {
  const auto& [model, lease, pairing, blend_gain] = fields;
  Challenger challenger{model, lease, {}, {}};
  fields_of_pairing(challenger.pairing) = pairing;
  fields_of_blend_gain(challenger.blend_gain) = blend_gain;
  return challenger;
}

ChallengerTuple tuple_of(const Challenger& c) {
  return {c.model, c.lease, fields_of_pairing(c.pairing), fields_of_blend_gain(c.blend_gain)};
}

ServingTuple tuple_of(const Serving& s) {
  const bool blended = s.other != Serving::kNoChallenger;
  return {blended ? static_cast<std::int64_t>(s.other) : -1, s.share, s.max_distance, s.served_loss,
          s.champion_loss};
}

void bind_contest(nb::class_<PyEngine>& type) {
  type.def(
          "set_contest_rules",
          [](PyEngine& self, const LossTuple& loss, double margin, std::int64_t block, double clip,
             double block_clip, double most, double eliminates, std::int64_t patience,
             std::int64_t warm_up, bool bernstein,
             std::optional<std::pair<std::uint64_t, std::int64_t>> coin, std::int64_t burn_in,
             std::int64_t early, double decay, double standard_errors, double blend_clip,
             double tolerance, bool champion_only, double share, double rate) {
            PairedBetting rules{margin,   block,   clip,      block_clip,       most, eliminates,
                                patience, warm_up, bernstein, coin.has_value(), 0,    1};
            if (coin) std::tie(rules.seed, rules.coin_block) = *coin;
            const auto held = self.lock();
            self.engine().set_contest_rules(
                ServedLoss::named(loss.first, loss.second), rules,
                {burn_in, early, decay, standard_errors, blend_clip, tolerance, champion_only},
                share, rate);
          },
          nb::kw_only(), "loss"_a, "margin"_a, "block"_a, "clip"_a, "block_clip"_a, "most"_a,
          "eliminates"_a, "patience"_a, "warm_up"_a, "bernstein"_a, "coin"_a.none(), "burn_in"_a,
          "early"_a, "decay"_a, "standard_errors"_a, "blend_clip"_a, "tolerance"_a,
          "champion_only"_a, "share"_a, "rate"_a)
      .def("set_contest",
           [](PyEngine& self, std::uint32_t champion, const std::vector<ChallengerTuple>& tuples,
              const ServingTuple& serving, double level, std::int64_t charged, bool decide_anyway) {
             std::vector<Challenger> challengers;
             for (const ChallengerTuple& tuple : tuples) {
               challengers.push_back(challenger_of(tuple));
             }
             const auto& [other, share, max_distance, served_loss, champion_loss] = serving;
             const std::uint32_t position =
                 other < 0 ? Serving::kNoChallenger : static_cast<std::uint32_t>(other);
             const auto held = self.lock();
             self.engine().set_contest(champion, std::move(challengers),
                                       {position, share, max_distance, served_loss, champion_loss},
                                       level, charged, decide_anyway);
           })
      .def_prop_ro("contest",
                   [](PyEngine& self) {
                     const auto held = self.lock();
                     const Contest& contest = self.engine().contest();
                     std::vector<ChallengerTuple> challengers;
                     for (const Challenger& challenger : contest.challengers()) {
                       challengers.push_back(tuple_of(challenger));
                     }
                     return std::tuple(challengers, tuple_of(contest.serving()), contest.level(),
                                       contest.charged());
                   })
      .def_prop_ro("serving",
                   [](PyEngine& self) {
                     const auto held = self.lock();
                     const Contest& contest = self.engine().contest();
                     const Serving& serving = contest.serving();
                     const std::uint32_t champion = self.engine().incumbent();
                     if (serving.other == Serving::kNoChallenger) {
                       return std::tuple(champion, champion, 0.0);
                     }
                     return std::tuple(champion, contest.challengers()[serving.other].model,
                                       serving.share);
                   })
      .def("set_screen",
           [](PyEngine& self,
              const std::vector<std::pair<std::vector<std::string>, std::uint32_t>>& products) {
             const auto held = self.lock();
             std::vector<std::vector<std::uint32_t>> groups;
             std::vector<std::uint32_t> cells;
             for (const auto& [names, size] : products) {
               if (names.empty() || size == 0 || (size & (size - 1)) != 0) {
                 throw std::invalid_argument(
                     "a candidate has a group or more, and a power of two of cells");
               }
               std::vector<std::uint32_t> numbers;
               for (const std::string& name : names) {
                 numbers.push_back(self.engine().groups().number(name));
               }
               groups.push_back(std::move(numbers));
               cells.push_back(size);
             }
             self.engine().screen().set(std::move(groups), cells);
           })
      .def_prop_ro("screened",  // whether all have a gain, and the gain per look of each
                   [](PyEngine& self) {
                     const auto held = self.lock();
                     bool every = true;
                     std::vector<double> gains;
                     for (const auto& [looks, gain] : self.engine().screen().scores()) {
                       const auto count = static_cast<double>(looks);
                       gains.push_back(looks > 0 ? gain / count : std::nan(""));
                       every = every && std::isfinite(gains.back());
                     }
                     return std::pair(every, gains);
                   })
      .def_prop_ro("screen_rounds",
                   [](PyEngine& self) {
                     const auto held = self.lock();
                     return self.engine().screen().rounds();
                   })
      .def_prop_ro("active", [](PyEngine& self) {
        const auto held = self.lock();
        Engine& engine = self.engine();
        std::vector<std::pair<std::string, std::int64_t>> counts;
        for (std::uint32_t group = 0; group < engine.groups().size(); ++group) {
          const std::int64_t count = engine.screen().active(group);
          if (count > 0) counts.emplace_back(engine.groups()[group].name, count);
        }
        return std::pair(engine.screen().examples(), counts);
      });
}

}  // namespace
}  // namespace chacha
