// Rows of a table of numbers: which features they can have is known beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/example.hpp"
#include "learner/expansion.hpp"
#include "learner/live_products.hpp"
#include "learner/places.hpp"
#include "learner/run_index.hpp"

namespace chacha {

// The places of all features that the columns of a table and their products can give, looked up
// once. Every column has one feature.
class TableGrid {
 public:
  struct Part {
    std::uint32_t group;
    std::vector<std::uint32_t> hashes;  // of its columns
  };

  TableGrid(const Groups& groups, const LiveProducts& products, Places& places);

  // Whether the grid is of this table and of the products of the live models.
  bool current(std::uint64_t table) const {
    return table_ == table && version_ == products_.version();
  }
  // Look up the places for a table, which `table` identifies.
  void lay_out(const std::vector<Part>& parts, std::uint64_t table);
  // Whether there are few enough features, and no products other than of two groups.
  bool usable() const { return usable_; }

  // Expand a row of a usable grid; `columns` has the number of the column of each feature.
  void expand(const Example& example, const std::uint32_t* columns);

  const Expansion& expansion() const { return expansion_; }
  std::size_t bytes() const;

 private:
  // The product of two groups of columns.
  struct Cross {
    std::uint32_t left_group, right_group;
    std::uint32_t left, right;  // their first columns
    std::uint32_t width;        // columns of the right group
    std::uint32_t mask;
    std::vector<std::uint32_t> places;
  };

  bool look_up(const std::vector<Part>& parts);

  const Groups& groups_;
  const LiveProducts& products_;
  Places& places_;

  std::uint64_t table_ = 0, version_ = 0;
  bool usable_ = false;
  std::uint32_t constant_ = 0;
  std::vector<std::uint32_t> single_;  // by column
  std::vector<Cross> crosses_;
  Expansion expansion_;
  RunIndex run_index_;
};

}  // namespace chacha
