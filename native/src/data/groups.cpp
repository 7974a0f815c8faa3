#include "data/groups.hpp"

#include <stdexcept>

#include "base/bytes.hpp"

namespace chacha {
namespace {

std::size_t mixed(std::string_view name) { return murmur(name, 0x9747b28cU); }

}  // namespace

Groups::Groups() : table_(16, kNone) { by_letter_.fill(kNoLetter); }

std::uint32_t Groups::find_or_add(std::string_view name) {
  if (name.empty()) throw std::invalid_argument("a group has a name of at least one byte");
  const std::size_t mask = table_.size() - 1;
  std::size_t at = mixed(name) & mask;
  for (; table_[at] != kNone; at = (at + 1) & mask) {
    if (groups_[table_[at]].name == name) return table_[at];
  }
  const std::uint32_t number = size();
  if (2 * (groups_.size() + 1) > table_.size()) {
    grow();
    return find_or_add(name);
  }
  const Group group{std::string(name), group_seed(name), static_cast<unsigned char>(name[0])};
  letters_.resize(number);  // a failed call may have left one more
  seeds_.resize(number);
  letters_.push_back(group.letter);
  seeds_.push_back(group.seed);
  groups_.push_back(group);
  table_[at] = number;
  if (name.size() == 1 && number < kNoLetter) {
    by_letter_[static_cast<unsigned char>(name[0])] = static_cast<std::uint16_t>(number);
  }
  return number;
}

std::size_t Groups::bytes() const {
  std::size_t total = bytes_of(groups_, letters_, seeds_, table_);
  for (const Group& group : groups_) total += bytes_of(group.name);
  return total;
}

void Groups::grow() {
  std::vector<std::uint32_t> larger(table_.size() * 2, kNone);
  const std::size_t mask = larger.size() - 1;
  for (std::uint32_t number = 0; number < size(); ++number) {
    std::size_t at = mixed(groups_[number].name) & mask;
    while (larger[at] != kNone) at = (at + 1) & mask;
    larger[at] = number;
  }
  table_.swap(larger);
}

}  // namespace chacha
