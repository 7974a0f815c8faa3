// A block of floats that begins at a cache line.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace chacha {

class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(std::size_t size)
      : data_(static_cast<float*>(::operator new(size * sizeof(float), std::align_val_t{64}))), size_(size) {
    std::memset(data_.get(), 0, size * sizeof(float));
  }

  float* get() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<float, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace chacha
