#include "learner/live_products.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/bytes.hpp"

namespace chacha {
namespace {

constexpr std::size_t kFirstProduct = 2;  // masks before those of products

struct UsedProduct {
  Product product;
  std::vector<std::pair<std::uint32_t, std::size_t>> users;  // lane, number among its products
};

std::vector<UsedProduct> used_products(const Lanes& lanes) {
  std::vector<UsedProduct> used;
  std::map<GroupList, std::size_t> numbers;
  for (const std::uint32_t lane : lanes.live()) {
    const std::vector<GroupList>& products = lanes.model(lane).products;
    for (std::size_t i = 0; i < products.size(); ++i) {
      const auto [at, fresh] = numbers.try_emplace(products[i], used.size());
      if (fresh) used.push_back({{products[i], lane, 0}, {}});
      UsedProduct& entry = used[at->second];
      if (entry.product.owner != lane) entry.product.owner = -1;
      entry.users.emplace_back(lane, i);
    }
  }
  return used;
}

}  // namespace

void LiveProducts::collect(const Lanes& lanes, const Groups& groups, std::size_t width) {
  std::vector<UsedProduct> used = used_products(lanes);
  const auto order = [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(groups.letter(a), groups.seed(a)) <
           std::pair(groups.letter(b), groups.seed(b));
  };
  std::stable_sort(used.begin(), used.end(), [&](const UsedProduct& a, const UsedProduct& b) {
    const GroupList& left = a.product.groups;
    const GroupList& right = b.product.groups;
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(),
                                        order);
  });
  std::vector<std::int32_t> masks((used.size() + kFirstProduct) * width);
  std::vector<float> seeds(lanes.any_damped() ? masks.size() : 0);
  std::vector<std::uint32_t> mask_of_group(groups.size());
  std::vector<Product> products;
  products.reserve(used.size());
  std::uint32_t mask_of_constant = 0;
  for (const std::uint32_t lane : lanes.live()) {
    const bool constant = lanes.options(lane).constant;
    masks[lane] = -1;
    masks[width + lane] = constant ? -1 : 0;
    if (!constant) mask_of_constant = 1;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    Product& product = used[i].product;
    const std::size_t mask = i + kFirstProduct;
    product.mask = static_cast<std::uint32_t>(mask);
    for (const auto& [lane, number] : used[i].users) {
      masks[mask * width + lane] = -1;
      if (lanes.damped(lane)) seeds[mask * width + lane] = lanes.model(lane).seeds[number];
    }
    if (product.groups.size() == 1) {
      mask_of_group[product.groups[0]] = product.mask;
    } else {
      products.push_back(std::move(product));
    }
  }
  // From here on nothing throws.
  width_ = width;
  products_ = std::move(products);
  mask_of_group_ = std::move(mask_of_group);
  mask_of_constant_ = mask_of_constant;
  masks_ = std::move(masks);
  seeds_ = std::move(seeds);
  ++version_;
}

std::size_t LiveProducts::bytes() const {
  std::size_t total = bytes_of(products_, mask_of_group_, masks_, seeds_);
  for (const Product& product : products_) total += bytes_of(product.groups);
  return total;
}

void LiveProducts::undamp(std::uint32_t lane, bool any_damped) noexcept {
  for (std::size_t at = lane; at < seeds_.size(); at += width_) seeds_[at] = 0.0F;
  if (!any_damped) seeds_.clear();
}

}  // namespace chacha
