// The contest and the screen, as Python sets and reads them: part of bindings.cpp.
#pragma once

#include <cmath>
#include <tuple>

#include "bindings/engine.hpp"

using namespace nb::literals;

namespace chacha {
namespace {

using PairingTuple = std::tuple<std::int64_t, double, std::int64_t, double, double, double, double, std::int64_t,
                                std::int64_t, double, double, std::int64_t, double, double, std::int64_t, double, double>;
using HelpingTuple = std::tuple<std::int64_t, double, double, double, double, double>;
using ChallengerTuple = std::tuple<std::uint32_t, std::int64_t, PairingTuple, HelpingTuple>;
using ServingTuple = std::tuple<std::int64_t, double, double, double, double>;  // -1: nobody is blended in

Challenger challenger_of(const ChallengerTuple& told) {
  const auto& [model, lease, p, h] = told;
  Pairing pairing;
  std::tie(pairing.number, pairing.needed, pairing.n, pairing.reserve, pairing.wealth, pairing.against, pairing.scale,
           pairing.blocks, pairing.parts, pairing.part, pairing.part_harm, pairing.seen, pairing.total, pairing.squares, pairing.clips, pairing.champion_loss, pairing.loss) = p;
  Helping helping;
  std::tie(helping.n, helping.none, helping.half, helping.whole, helping.noise, helping.apart) = h;
  return {model, lease, pairing, helping};
}

ChallengerTuple told_of(const Challenger& c) {
  const Pairing& p = c.pairing;
  const Helping& h = c.helping;
  return {c.model,
          c.lease,
          {p.number, p.needed, p.n, p.reserve, p.wealth, p.against, p.scale, p.blocks, p.parts, p.part, p.part_harm, p.seen, p.total, p.squares, p.clips,
           p.champion_loss, p.loss},
          {h.n, h.none, h.half, h.whole, h.noise, h.apart}};
}

ServingTuple told_of(const Serving& s) {
  const std::int64_t other = s.other == Serving::kNobody ? -1 : static_cast<std::int64_t>(s.other);
  return {other, s.share, s.most, s.lost, s.champion_lost};
}

void bind_contest(nb::class_<PyEngine>& engine) {
  engine
      .def("set_contest_rules",
           [](PyEngine& self, const std::string& loss, double tau, double floor, double margin, std::int64_t block, double clip, double block_clip, double most,
              double eliminates, std::int64_t patience, std::int64_t warm_up, bool bernstein,
              std::optional<std::pair<std::uint64_t, std::int64_t>> coin, std::int64_t burn_in, std::int64_t early, double decay,
              double noise, double wild, double harm, bool champion_only, double share, double rate) {
             PairedRules rules{margin,   block,   clip,      block_clip,       most, eliminates,
                               patience, warm_up, bernstein, coin.has_value(), 0,    1};
             if (coin) std::tie(rules.seed, rules.coin_block) = *coin;
             const auto held = self.lock();
             self.engine().set_contest_rules({loss_named(loss), tau, floor}, rules,
                                             {burn_in, early, decay, noise, wild, harm, champion_only}, share, rate);
           },
           nb::kw_only(), "loss"_a, "tau"_a, "floor"_a, "margin"_a, "block"_a, "clip"_a, "block_clip"_a, "most"_a, "eliminates"_a, "patience"_a, "warm_up"_a,
           "bernstein"_a, "coin"_a.none(), "burn_in"_a, "early"_a, "decay"_a, "noise"_a, "wild"_a, "harm"_a, "champion_only"_a,
           "share"_a, "rate"_a)
      .def("set_contest",
           [](PyEngine& self, std::uint32_t champion, const std::vector<ChallengerTuple>& told, const ServingTuple& s,
              double level, std::int64_t charged, bool restless) {
             std::vector<Challenger> challengers;
             for (const ChallengerTuple& one : told) challengers.push_back(challenger_of(one));
             const auto& [other, share, most, lost, champion_lost] = s;
             const std::uint32_t place = other < 0 ? Serving::kNobody : static_cast<std::uint32_t>(other);
             const auto held = self.lock();
             self.engine().set_contest(champion, std::move(challengers), {place, share, most, lost, champion_lost},
                                       level, charged, restless);
           })
      .def_prop_ro("contest",
                   [](PyEngine& self) {
                     const auto held = self.lock();
                     const Contest& contest = self.engine().contest();
                     std::vector<ChallengerTuple> told;
                     for (const Challenger& one : contest.challengers()) told.push_back(told_of(one));
                     return std::tuple(told, told_of(contest.serving()), contest.level(), contest.charged());
                   })
      .def_prop_ro("serving",
                   [](PyEngine& self) {
                     const auto held = self.lock();
                     const Contest& contest = self.engine().contest();
                     const Serving& serving = contest.serving();
                     const bool blended = serving.other != Serving::kNobody;
                     const std::uint32_t champion = self.engine().incumbent();
                     return std::tuple(champion, blended ? contest.challengers()[serving.other].model : champion,
                                       blended ? serving.share : 0.0);
                   })
      .def("set_screen",
           [](PyEngine& self, const std::vector<std::pair<std::vector<std::string>, std::uint32_t>>& products) {
             const auto held = self.lock();
             std::vector<std::vector<std::uint32_t>> groups;
             std::vector<std::uint32_t> cells;
             for (const auto& [names, size] : products) {
               if (names.empty() || size == 0 || (size & (size - 1)) != 0) {
                 throw std::invalid_argument("a candidate has a group or more, and a power of two of cells");
               }
               std::vector<std::uint32_t> numbers;
               for (const std::string& name : names) numbers.push_back(self.engine().groups().number(name));
               groups.push_back(std::move(numbers));
               cells.push_back(size);
             }
             self.engine().screen().set(std::move(groups), cells);
           })
      .def_prop_ro("screened",  // whether all were looked at, and what each gained per look
                   [](PyEngine& self) {
                     const auto held = self.lock();
                     bool every = true;
                     std::vector<double> gains;
                     for (const auto& [looks, gain] : self.engine().screen().found()) {
                       gains.push_back(looks > 0 ? gain / static_cast<double>(looks) : std::nan(""));
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
        Engine& all = self.engine();
        std::vector<std::pair<std::string, std::int64_t>> found;
        for (std::uint32_t group = 0; group < all.groups().size(); ++group) {
          const std::int64_t count = all.screen().active(group);
          if (count > 0) found.emplace_back(all.groups()[group].name, count);
        }
        return std::pair(all.screen().examples(), found);
      });
}

}  // namespace
}  // namespace chacha
