// A small test framework: a test is a function with a name. A check that fails prints its place,
// and the test goes on; a test that throws has failed.
#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

namespace check {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

// Failures of the current test.
inline int& failures() {
  static int count = 0;
  return count;
}

struct Registered {
  Registered(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

inline void fail(const char* file, int line, const std::string& what) {
  constexpr int kMostShown = 8;  // a loop that goes wrong goes wrong often
  if (++failures() <= kMostShown) std::printf("  %s:%d: %s\n", file, line, what.c_str());
}

template <class A, class B>
void equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (a == b) return;
  std::ostringstream message;
  message.precision(17);
  message << text << ": " << a << " is not " << b;
  fail(file, line, message.str());
}

// Whether two numbers have the same bits: NaN equals itself, and -0 is not 0.
inline bool same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }
inline bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// Runs the tests whose name contains `filter`; returns the exit code of the program.
inline int run_all(const char* filter) {
  int passed = 0;
  int failed = 0;
  for (const Test& test : tests()) {
    if (std::strstr(test.name, filter) == nullptr) continue;
    failures() = 0;
    try {
      test.run();
    } catch (const std::exception& error) {
      fail(test.name, 0, std::string("threw ") + error.what());
    }
    if (failures() > 0) std::printf("FAILED %s (%d checks)\n", test.name, failures());
    (failures() > 0 ? failed : passed) += 1;
  }
  if (failed > 0) std::printf("%d tests failed, ", failed);
  std::printf("%d tests passed\n", passed);
  return failed > 0 || passed == 0 ? 1 : 0;
}

}  // namespace check

#define TEST(name)                                                 \
  static void name();                                              \
  static const ::check::Registered name##_registered(#name, name); \
  static void name()

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) ::check::fail(__FILE__, __LINE__, #condition); \
  } while (false)

#define CHECK_EQ(a, b) ::check::equal((a), (b), #a, __FILE__, __LINE__)

#define CHECK_THROWS(expression, Type)                                                    \
  do {                                                                                    \
    bool thrown = false;                                                                  \
    try {                                                                                 \
      static_cast<void>(expression);                                                      \
    } catch (const Type&) {                                                               \
      thrown = true;                                                                      \
    }                                                                                     \
    if (!thrown) ::check::fail(__FILE__, __LINE__, #expression " does not throw " #Type); \
  } while (false)
