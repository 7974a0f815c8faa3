// Damped copies of models: on what is new to them they begin with small steps.
#include <cmath>
#include <map>

#include "learner/live_bank.hpp"
#include "support/check.hpp"
#include "support/streams.hpp"
#include "vw/hashing.hpp"

using namespace chacha;

namespace {

struct Cell {
  float w, adaptive, norm;
};

struct DampedBank : LiveBank {
  explicit DampedBank(const char* kernel = "plain", int bits = 18) : LiveBank(bits, kernel) {}

  std::uint32_t start(const std::vector<std::string>& products, int from = -1, float damping = 0.0F,
                      const Options& options = {}) {
    return LiveBank::start(options, products, from, damping);
  }
  // Return the weights that have learned, by index.
  std::map<std::uint32_t, Cell> cells(std::uint32_t lane) const {
    const Dump dump = bank.dump(lane);
    std::map<std::uint32_t, Cell> cells;
    for (std::size_t i = 0; i < dump.index.size(); ++i) {
      if (dump.norm[i] > 0) cells[dump.index[i]] = {dump.w[i], dump.adaptive[i], dump.norm[i]};
    }
    return cells;
  }
};

// Return the cells of `all` whose indices `others` has not.
std::map<std::uint32_t, Cell> beyond(const std::map<std::uint32_t, Cell>& all,
                                     const std::map<std::uint32_t, Cell>& others) {
  std::map<std::uint32_t, Cell> rest;
  for (const auto& [index, cell] : all) {
    if (others.count(index) == 0) rest[index] = cell;
  }
  return rest;
}

void teach(DampedBank& models, std::uint64_t seed, int n) {
  Rng rng(seed);
  for (int i = 0; i < n; ++i) models.learn(random_line(rng));
}

const char* const kKernels[] = {"plain", "avx2", "avx512"};

}  // namespace

TEST(the_first_step_of_a_damped_copy_is_smaller) {
  for (const bool constant : {true, false}) {
    for (const float power : {0.5F, 0.3F}) {
      Options options;
      options.constant = constant;
      options.power_t = power;
      DampedBank models;
      const std::uint32_t source = models.start({}, -1, 0.0F, options);
      for (const char* line : {"1 |a x |b y", "-2 |a x |c y", "3 |b y"}) models.learn(line);
      const int from = static_cast<int>(source);
      const std::uint32_t free = models.start({"ab"}, from, 0.0F, options);
      const std::uint32_t damped = models.start({"ab"}, from, 0.5F, options);
      CHECK_EQ(models.picture(damped), models.picture(free));
      const auto before = models.cells(source);
      float sum =
          0.0F;  // the squared gradients of the constant, or those of all weights on average
      if (constant) {
        sum = before.at(kConstant & 0x3ffffU).adaptive;
      } else {
        double total = 0.0;
        for (const auto& [index, cell] : before) {
          total += static_cast<double>(cell.adaptive) /
                   (static_cast<double>(cell.norm) * static_cast<double>(cell.norm));
        }
        sum = static_cast<float>(total / static_cast<double>(before.size()));
      }
      models.learn("2 |a x:2 |b y");
      const auto left = beyond(models.cells(free), before),
                 right = beyond(models.cells(damped), before);
      CHECK_EQ(left.size(), std::size_t{1});
      CHECK_EQ(right.size(), std::size_t{1});
      const Cell plain = left.begin()->second, small = right.begin()->second;
      CHECK_EQ(small.adaptive,
               0.5F * sum * 4.0F + plain.adaptive);  // the value is 2: its square counts
      CHECK(std::fabs(small.w) < std::fabs(plain.w));
      CHECK(small.w != 0.0F);
    }
  }
}

TEST(what_the_source_has_is_not_damped) {
  DampedBank models;
  const std::uint32_t source = models.start({"ab"});
  models.learn("1 |a x |b y |c z");
  const auto before = models.cells(source);
  const std::uint32_t same = models.start({"ab"}, static_cast<int>(source), 1.0F);
  const std::uint32_t more = models.start({"ab", "bc"}, static_cast<int>(source), 1.0F);
  models.learn("2 |a new |b y |c z");  // a feature of ab that is new to all
  CHECK_EQ(models.picture(same), models.picture(source));
  const auto learned = models.cells(more), shared = models.cells(source);
  int damped = 0;
  for (const auto& [index, cell] : beyond(learned, before)) {
    if (shared.count(index) == 0) {
      ++damped;
    } else {
      CHECK_EQ(cell.adaptive, shared.at(index).adaptive);
    }
  }
  CHECK_EQ(damped, 1);
}

TEST(no_damping_is_a_plain_copy) {
  DampedBank models;
  const std::uint32_t empty = models.start({});
  const std::uint32_t early =
      models.start({"ab"}, static_cast<int>(empty), 1.0F);  // there is nothing to damp with
  const std::uint32_t plain = models.start({"ab"});
  teach(models, 90, 60);
  CHECK_EQ(models.picture(early), models.picture(plain));
}

TEST(an_undamped_copy_learns_as_a_plain_one) {
  DampedBank models;
  const std::uint32_t source = models.start({});
  teach(models, 91, 30);
  const int from = static_cast<int>(source);
  const std::uint32_t damped = models.start({"ab"}, from, 1.0F);
  const std::uint32_t free = models.start({"ab"}, from, 0.0F);
  const std::uint32_t undamped = models.start({"ab"}, from, 1.0F);
  models.bank.undamp(undamped);
  teach(models, 92, 60);
  CHECK_EQ(models.picture(undamped), models.picture(free));
  CHECK(models.picture(damped) != models.picture(free));  // the others are not affected
  models.bank.undamp(damped);
  const auto before = models.cells(damped);
  models.learn("1 |a fresh1 |b fresh2");
  float most = 0.0F, least = 1e30F;
  for (const auto& [index, cell] : beyond(models.cells(damped), before)) {
    most = std::max(most, cell.adaptive);  // two features and their product: one gradient for all
    least = std::min(least, cell.adaptive);
  }
  CHECK_EQ(most, least);
  models.bank.undamp(damped);  // once more changes nothing
  models.bank.undamp(source);
}

// Others come and go, the bank grows wider, places move: seeds stay with their products.
TEST(damping_survives_company) {
  for (const char* kernel : kKernels) {
    if (kernel_named(kernel) == nullptr) continue;
    for (const int bits : {5, 18}) {
      DampedBank models(kernel, bits), alone("plain", bits);
      std::vector<std::uint32_t> lane, guests;
      for (DampedBank* each : {&models, &alone}) {
        each->start({"ab"});
        teach(*each, 93, 30);
        lane.push_back(each->start({"ab", "bc", "aa"}, 0, 0.3F));
      }
      Rng rng(94);
      for (int i = 0; i < 120; ++i) {
        if (i % 8 == 1) guests.push_back(models.start({"bc", "cc"}, i % 3 == 0 ? 0 : -1, 2.0F));
        if (i % 8 == 5 && guests.size() > 6) {
          models.bank.stop(guests.front());
          guests.erase(guests.begin());
        }
        if (i % 20 == 9) models.bank.undamp(guests.back());
        const std::string line = random_line(rng);
        models.learn(line);
        alone.learn(line);
        CHECK(check::same(models.predictions[lane[0]], alone.predictions[lane[1]]));
      }
      CHECK_EQ(models.bank.live(), 8U);  // two vectors of lanes
      CHECK_EQ(models.picture(lane[0]), alone.picture(lane[1]));
    }
  }
}

TEST(a_new_model_in_the_lane_of_a_damped_one_is_not_damped) {
  DampedBank models, fresh;
  models.start({});
  teach(models, 95, 20);
  const std::uint32_t damped = models.start({"ab"}, 0, 5.0F);
  models.bank.stop(damped);
  CHECK_EQ(models.start({"ab"}), damped);
  const std::uint32_t other = fresh.start({"ab"});
  teach(models, 96, 40);
  teach(fresh, 96, 40);
  CHECK_EQ(models.picture(damped), fresh.picture(other));
}
