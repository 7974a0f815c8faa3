#include "support/failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace failing {

long long left = -1;
bool failed = false;

}  // namespace failing

namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  if (failing::left >= 0 && failing::left-- == 0) {
    failing::failed = true;
    throw std::bad_alloc();
  }
  if (size == 0) size = 1;
  void* made = alignment > alignof(std::max_align_t)
                   ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                   : std::malloc(size);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 1); }
void* operator new[](std::size_t size) { return allocate(size, 1); }
void* operator new(std::size_t size,
                   const std::nothrow_t&) noexcept {  // as std::stable_sort calls it
  try {
    return allocate(size, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
