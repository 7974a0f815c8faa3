// A bank that learns lines of VW text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/text_parser.hpp"
#include "learner/bank.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"

namespace chacha {

// Products are written with one letter per group; `u` is the group "user".
inline std::vector<GroupList> group_lists(const std::vector<std::string>& products,
                                          Groups& groups) {
  std::vector<GroupList> lists;
  for (const std::string& names : products) {
    lists.emplace_back();
    for (const char name : names) {
      lists.back().push_back(groups.number(name == 'u' ? "user" : std::string(1, name)));
    }
  }
  return lists;
}

struct LiveBank {
  Groups groups;
  Bank bank;
  Example example;
  std::vector<std::uint32_t> empty;
  std::vector<float> predictions = std::vector<float>(256);

  explicit LiveBank(int bits = 18, const char* kernel = "plain")
      : bank(bits, groups, kernel_named(kernel)) {}

  std::uint32_t start(const Options& options, const std::vector<std::string>& products,
                      int from = -1, float damping = 0.0F) {
    return bank.start(options, group_lists(products, groups), from, damping);
  }
  void learn(const std::string& line) {
    read(line);
    bank.expand(example, true);
    bank.learn(example, predictions.data());
  }
  // Learn a line with another label than its own.
  void learn_labelled(const std::string& line, float label) {
    read(line);
    example.label = label;
    bank.expand(example, true);
    bank.learn(example, predictions.data());
  }
  // Learn a line with other labels than its own, one for each lane.
  void learn(const std::string& line, const std::vector<float>& labels) {
    read(line);
    bank.expand(example, true);
    bank.learn(example, labels.data(), predictions.data());
  }
  float predict(std::uint32_t lane, const std::string& line) {
    read(line);
    bank.expand(example, false);
    bank.predict(example, predictions.data());
    return predictions[lane];
  }
  std::string picture(std::uint32_t lane) const {
    return chacha::picture(bank.dump(lane)) + chacha::picture(bank.state(lane));
  }

 private:
  void read(const std::string& line) {
    CHECK(parse_line(line, groups, example));
    example.order_runs(groups, empty);
  }
};

}  // namespace chacha
