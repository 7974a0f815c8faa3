// The memory in bytes that containers have allocated.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/pod.hpp"

namespace chacha {

template <class T, class Allocator>
std::size_t bytes_of(const std::vector<T, Allocator>& all) {
  return all.capacity() * sizeof(T);
}
template <class T>
std::size_t bytes_of(const std::vector<std::vector<T>>& all) {
  std::size_t total = all.capacity() * sizeof(std::vector<T>);
  for (const std::vector<T>& one : all) total += bytes_of(one);
  return total;
}
template <class T>
std::size_t bytes_of(const Pod<T>& all) {
  return all.capacity() * sizeof(T);
}
// A short text lies within the object.
inline std::size_t bytes_of(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0 : text.capacity() + 1;
}
template <class First, class Second, class... Others>
std::size_t bytes_of(const First& first, const Second& second, const Others&... others) {
  return bytes_of(first) + bytes_of(second, others...);
}

}  // namespace chacha
