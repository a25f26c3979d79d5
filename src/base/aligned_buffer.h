// An owning array of trivially copyable elements, 64-byte aligned (a cache line, an AVX-512
// vector), with transparent huge pages asked for when it is large. Contents are uninitialised after
// Resize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace hagane {

// 64-byte aligned memory of `bytes` (>= 0); throws std::bad_alloc. Free with FreeAligned.
void* AllocateAligned(size_t bytes);
void FreeAligned(void* pointer);

template <class T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size) { Resize(size); }
  ~AlignedBuffer() { FreeAligned(data_); }
  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  // Drops the contents.
  void Resize(size_t size) {
    if (size > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    FreeAligned(data_);
    data_ = nullptr;
    size_ = 0;
    data_ = static_cast<T*>(AllocateAligned(size * sizeof(T)));
    size_ = size;
  }
  // Grows, never shrinks; drops the contents when it grows.
  void Reserve(size_t size) {
    if (size > size_) Resize(size);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

  void swap(AlignedBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hagane
