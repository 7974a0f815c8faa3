// Copies of models, damped: what is new to them begins with small steps.
#include <cmath>
#include <map>

#include "support/check.hpp"
#include "vw/hashing.hpp"
#include "data/text_parser.hpp"
#include "support/streams.hpp"

using namespace chacha;

namespace {

struct Cell {
  float w, adaptive, norm;
};

struct Crowd {
  Groups groups;
  Bank bank;
  Example example;
  std::vector<std::uint32_t> empty;
  std::vector<float> predictions = std::vector<float>(256);

  explicit Crowd(const char* kernel = "plain", int bits = 18) : bank(bits, groups, kernel_named(kernel)) {}

  std::uint32_t start(const std::vector<std::string>& products, int from = -1, float damping = 0.0F,
                      const Options& options = {}) {
    std::vector<GroupList> lists;
    for (const std::string& names : products) {
      lists.emplace_back();
      for (const char name : names) lists.back().push_back(groups.number(std::string(1, name)));
    }
    return bank.start(options, lists, from, damping);
  }
  void learn(const std::string& line) {
    CHECK(parse_line(line, groups, example));
    example.settle(groups, empty);
    bank.expand(example, true);
    bank.learn(example, predictions.data());
  }
  std::map<std::uint32_t, Cell> cells(std::uint32_t lane) const {
    const Dump dump = bank.dump(lane);
    std::map<std::uint32_t, Cell> found;
    for (std::size_t i = 0; i < dump.index.size(); ++i) {
      if (dump.norm[i] > 0) found[dump.index[i]] = {dump.w[i], dump.adaptive[i], dump.norm[i]};
    }
    return found;
  }
  std::string picture(std::uint32_t lane) {
    return chacha::picture(bank.dump(lane)) + chacha::picture(bank.state(lane));
  }
};

// The cells that the first has and the second has not.
std::map<std::uint32_t, Cell> beyond(const std::map<std::uint32_t, Cell>& all,
                                     const std::map<std::uint32_t, Cell>& known) {
  std::map<std::uint32_t, Cell> found;
  for (const auto& [index, cell] : all) {
    if (known.count(index) == 0) found[index] = cell;
  }
  return found;
}

void teach(Crowd& crowd, std::uint64_t seed, int n) {
  Rng rng(seed);
  for (int i = 0; i < n; ++i) crowd.learn(random_line(rng));
}

const char* const kKernels[] = {"plain", "avx2", "avx512"};

}  // namespace

TEST(the_first_step_of_a_damped_copy_is_smaller) {
  for (const bool constant : {true, false}) {
    for (const float power : {0.5F, 0.3F}) {
      Options options;
      options.constant = constant;
      options.power_t = power;
      Crowd crowd;
      const std::uint32_t source = crowd.start({}, -1, 0.0F, options);
      for (const char* line : {"1 |a x |b y", "-2 |a x |c y", "3 |b y"}) crowd.learn(line);
      const int from = static_cast<int>(source);
      const std::uint32_t free = crowd.start({"ab"}, from, 0.0F, options);
      const std::uint32_t damped = crowd.start({"ab"}, from, 0.5F, options);
      CHECK_EQ(crowd.picture(damped), crowd.picture(free));
      const auto before = crowd.cells(source);
      float sum = 0.0F;  // the squared gradients of the constant, or those of all weights on average
      if (constant) {
        sum = before.at(kConstant & 0x3ffffU).adaptive;
      } else {
        double total = 0.0;
        for (const auto& [index, cell] : before) {
          total += static_cast<double>(cell.adaptive) / (static_cast<double>(cell.norm) * static_cast<double>(cell.norm));
        }
        sum = static_cast<float>(total / static_cast<double>(before.size()));
      }
      crowd.learn("2 |a x:2 |b y");
      const auto left = beyond(crowd.cells(free), before), right = beyond(crowd.cells(damped), before);
      CHECK_EQ(left.size(), std::size_t{1});
      CHECK_EQ(right.size(), std::size_t{1});
      const Cell plain = left.begin()->second, small = right.begin()->second;
      CHECK_EQ(small.adaptive, 0.5F * sum * 4.0F + plain.adaptive);  // the value is 2: its square counts
      CHECK(std::fabs(small.w) < std::fabs(plain.w));
      CHECK(small.w != 0.0F);
    }
  }
}

TEST(what_the_source_has_is_not_damped) {
  Crowd crowd;
  const std::uint32_t source = crowd.start({"ab"});
  crowd.learn("1 |a x |b y |c z");
  const auto before = crowd.cells(source);
  const std::uint32_t same = crowd.start({"ab"}, static_cast<int>(source), 1.0F);
  const std::uint32_t more = crowd.start({"ab", "bc"}, static_cast<int>(source), 1.0F);
  crowd.learn("2 |a new |b y |c z");  // a feature of ab that is new to all
  CHECK_EQ(crowd.picture(same), crowd.picture(source));
  const auto met = crowd.cells(more), known = crowd.cells(source);
  int damped = 0;
  for (const auto& [index, cell] : beyond(met, before)) {
    if (known.count(index) == 0) {
      ++damped;
    } else {
      CHECK_EQ(cell.adaptive, known.at(index).adaptive);
    }
  }
  CHECK_EQ(damped, 1);
}

TEST(no_damping_is_a_plain_copy) {
  Crowd crowd;
  const std::uint32_t empty = crowd.start({});
  const std::uint32_t early = crowd.start({"ab"}, static_cast<int>(empty), 1.0F);  // there is nothing to damp with
  const std::uint32_t plain = crowd.start({"ab"});
  teach(crowd, 90, 60);
  CHECK_EQ(crowd.picture(early), crowd.picture(plain));
}

TEST(a_settled_copy_learns_undamped) {
  Crowd crowd;
  const std::uint32_t source = crowd.start({});
  teach(crowd, 91, 30);
  const int from = static_cast<int>(source);
  const std::uint32_t damped = crowd.start({"ab"}, from, 1.0F);
  const std::uint32_t free = crowd.start({"ab"}, from, 0.0F);
  const std::uint32_t settled = crowd.start({"ab"}, from, 1.0F);
  crowd.bank.undamp(settled);
  teach(crowd, 92, 60);
  CHECK_EQ(crowd.picture(settled), crowd.picture(free));
  CHECK(crowd.picture(damped) != crowd.picture(free));  // settling one leaves the others
  crowd.bank.undamp(damped);
  const auto before = crowd.cells(damped);
  crowd.learn("1 |a fresh1 |b fresh2");
  float most = 0.0F, least = 1e30F;
  for (const auto& [index, cell] : beyond(crowd.cells(damped), before)) {
    most = std::max(most, cell.adaptive);  // two features and their product: one gradient for all
    least = std::min(least, cell.adaptive);
  }
  CHECK_EQ(most, least);
  crowd.bank.undamp(damped);  // once more changes nothing
  crowd.bank.undamp(source);
}

// Others come and go, the bank grows wider, places move: seeds stay with their products.
TEST(damping_survives_company) {
  for (const char* kernel : kKernels) {
    if (kernel_named(kernel) == nullptr) continue;
    for (const int bits : {5, 18}) {
      Crowd crowd(kernel, bits), alone("plain", bits);
      std::vector<std::uint32_t> lane, guests;
      for (Crowd* each : {&crowd, &alone}) {
        each->start({"ab"});
        teach(*each, 93, 30);
        lane.push_back(each->start({"ab", "bc", "aa"}, 0, 0.3F));
      }
      Rng rng(94);
      for (int i = 0; i < 120; ++i) {
        if (i % 8 == 1) guests.push_back(crowd.start({"bc", "cc"}, i % 3 == 0 ? 0 : -1, 2.0F));
        if (i % 8 == 5 && guests.size() > 6) {
          crowd.bank.stop(guests.front());
          guests.erase(guests.begin());
        }
        if (i % 20 == 9) crowd.bank.undamp(guests.back());
        const std::string line = random_line(rng);
        crowd.learn(line);
        alone.learn(line);
        CHECK(check::same(crowd.predictions[lane[0]], alone.predictions[lane[1]]));
      }
      CHECK_EQ(crowd.bank.live(), 8U);  // two vectors of lanes
      CHECK_EQ(crowd.picture(lane[0]), alone.picture(lane[1]));
    }
  }
}

TEST(a_new_model_in_the_lane_of_a_damped_one_is_not_damped) {
  Crowd crowd, fresh;
  crowd.start({});
  teach(crowd, 95, 20);
  const std::uint32_t damped = crowd.start({"ab"}, 0, 5.0F);
  crowd.bank.stop(damped);
  CHECK_EQ(crowd.start({"ab"}), damped);
  const std::uint32_t other = fresh.start({"ab"});
  teach(crowd, 96, 40);
  teach(fresh, 96, 40);
  CHECK_EQ(crowd.picture(damped), fresh.picture(other));
}
