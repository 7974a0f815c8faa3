// The kinds of derived groups: one table of names, limits of parameters, and formulas.
// Twin: src/chacha/config/derived_kinds.py
//
// The formulas are those of src/chacha/features/formulas.py. Expressions keep the order they have
// there, so the bits are the same. A new kind is a struct and a line of the table in the .cpp file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/example.hpp"
#include "features/column_stats.hpp"

namespace chacha {

struct DerivedKind;

struct TrackedColumn {  // a column of a raw group
  std::uint32_t hash;
  bool changed;  // since its bases were made
  bool tight;    // it has little room for more values
  std::string name;
  ColumnStats stats;
};

struct Basis {                        // a column in a derived group
  bool ready = false;                 // it has features there
  std::vector<double> at;             // knots, values, or a middle
  std::vector<std::uint32_t> hashes;  // of the features
  std::vector<float> past;            // of a lag a ring, of ewma the mean
};

struct Turn {  // a point of a circle
  double x;
  float sine, cosine;
};

struct Recipe {  // a derived group
  const DerivedKind* kind;
  std::uint32_t group;
  std::uint32_t source;
  std::uint32_t seed;  // of the hashes of its features
  double parameter;
  std::uint64_t clock = 0;   // examples learned
  std::vector<Basis> bases;  // by column; the label is the only one
  std::vector<Turn> turns;   // of cyclic: a cache
};

// The raw features of one group in an example, and the columns they belong to.
struct SourceFeatures {
  std::uint32_t first, last;       // all runs of the group lie between these; first > last: none
  const std::uint32_t* column_at;  // by feature of the example
  const TrackedColumn* columns;    // by column of the group
  std::string* scratch;            // with room for the longest name of a feature
};

// The limits of a parameter, which is always above 0. Without a parameter, `most` is 0.
struct Limits {
  double least = 0.0, most = 0.0;
  bool whole = false;  // only whole numbers

  bool allow(double parameter) const;
};

struct DerivedKind {
  std::string_view name;
  Limits limits;
  std::size_t most_of_one;  // features that one raw feature gives at most

  // A group that comes with the example has no formula: the functions are null.
  bool given() const { return fit == nullptr; }
  // Whether it is made from earlier examples.
  bool keeps_past() const { return remember != nullptr; }

  // Makes room in a new derived group. May throw, as may `fit` and `names`.
  void (*prepare)(Recipe& recipe);
  // Sets the numbers of a basis, if the column suits the kind. Of the label there are no
  // statistics.
  void (*fit)(double parameter, const ColumnStats* stats, Basis& basis);
  // The names of the features that a column can have, in the order of Basis::hashes.
  std::vector<std::string> (*names)(const std::string& column, const Basis& basis);
  // Appends the features of an example. Throws only if there is no room for them.
  void (*add)(Recipe& recipe, const SourceFeatures& source, Example& example);
  // Stores the value of each column in the past; null if there is no past.
  void (*remember)(Recipe& recipe, const float* values);
};

std::vector<const DerivedKind*> derived_kinds();
// Throws if there is no such kind.
const DerivedKind& kind_named(std::string_view name);

// Groups of missing cells, which a stream may contain by itself.
const DerivedKind& missing_kind();
bool is_missing_group(const std::string& name);

}  // namespace chacha
