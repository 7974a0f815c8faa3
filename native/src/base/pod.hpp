// A vector of trivially copyable values: new ones are left uninitialised.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

namespace chacha {

template <class T>
class Pod {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Pod() = default;
  Pod(const Pod& other) { *this = other; }
  Pod& operator=(const Pod& other) {
    if (this != &other) {
      size_ = 0;
      reserve(other.size_);
      if (other.size_ > 0) std::memcpy(data_.get(), other.data_.get(), other.size_ * sizeof(T));
      size_ = other.size_;
    }
    return *this;
  }
  Pod(Pod&& other) noexcept { swap(other); }
  Pod& operator=(Pod&& other) noexcept {
    swap(other);
    return *this;
  }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T* begin() { return data_.get(); }
  T* end() { return data_.get() + size_; }
  const T* begin() const { return data_.get(); }
  const T* end() const { return data_.get() + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }

  void clear() { size_ = 0; }
  void resize(std::size_t size) {
    reserve(size);
    size_ = size;
  }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  // Add an uninitialised value.
  T& add() {
    if (size_ == capacity_) grow(size_ + 1);
    return data_[size_++];
  }
  void push_back(const T& value) { add() = value; }
  // For callers that have reserved room: write behind the last value, then set the size.
  void put(const T& value) { data_[size_] = value; }
  void set_size(std::size_t size) { size_ = size; }
  void append(const T* first, const T* last) {
    const auto more = static_cast<std::size_t>(last - first);
    if (more == 0) return;
    reserve(size_ + more);
    std::memcpy(data_.get() + size_, first, more * sizeof(T));
    size_ += more;
  }
  friend bool operator==(const Pod& a, const Pod& b) {
    return a.size_ == b.size_ &&
           (a.size_ == 0 || std::memcmp(a.data(), b.data(), a.size_ * sizeof(T)) == 0);
  }
  friend bool operator!=(const Pod& a, const Pod& b) { return !(a == b); }

 private:
  void swap(Pod& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  void grow(std::size_t least) {
    const std::size_t capacity = std::max({least, capacity_ + capacity_ / 2, std::size_t{16}});
    std::unique_ptr<T[]> larger(new T[capacity]);
    if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_ * sizeof(T));
    data_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<T[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace chacha
