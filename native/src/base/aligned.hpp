// Memory aligned to cache lines. Large blocks are aligned to pages of 2 MB, which the system is
// asked to use: weights are read at random, and address translation of small pages would cost as
// much as the reads.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace chacha {

constexpr std::size_t kLargePage = std::size_t{1} << 21;

inline std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{bytes >= kLargePage ? kLargePage : 64};
}

inline void* allocate_aligned(std::size_t bytes) {
  void* memory = ::operator new(bytes, alignment_of(bytes));
#if defined(__linux__)
  if (bytes >= kLargePage)
    madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);  // advice only
#endif
  return memory;
}

inline void free_aligned(void* memory, std::size_t bytes) {
  ::operator delete(memory, alignment_of(bytes));
}

// An allocator for vectors.
template <class T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class U>
  Aligned(const Aligned<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_aligned(n * sizeof(T))); }
  void deallocate(T* memory, std::size_t n) { free_aligned(memory, n * sizeof(T)); }
  friend bool operator==(const Aligned&, const Aligned&) { return true; }
  friend bool operator!=(const Aligned&, const Aligned&) { return false; }
};

struct FreeAligned {
  std::size_t bytes = 0;
  void operator()(float* memory) const { free_aligned(memory, bytes); }
};

// Floats, initially zero.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::size_t size)
      : data_(static_cast<float*>(allocate_aligned(size * sizeof(float))),
              FreeAligned{size * sizeof(float)}),
        size_(size) {
    std::memset(data_.get(), 0, size * sizeof(float));
  }

  float* get() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<float, FreeAligned> data_;
  std::size_t size_ = 0;
};

}  // namespace chacha
