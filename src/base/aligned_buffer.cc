#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace hagane {

namespace {
constexpr size_t kHugePage = size_t{2} << 20;
}

void* AllocateAligned(size_t bytes) {
  if (bytes == 0) return nullptr;
  const size_t alignment = bytes >= 2 * kHugePage ? kHugePage : 64;
  if (bytes > SIZE_MAX - alignment) throw std::bad_alloc();
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* pointer = std::aligned_alloc(alignment, rounded);
  if (pointer == nullptr) throw std::bad_alloc();
  // Fewer page faults and TLB misses; where huge pages are off this changes nothing.
  if (alignment == kHugePage) (void)madvise(pointer, rounded, MADV_HUGEPAGE);
  return pointer;
}

void FreeAligned(void* pointer) { std::free(pointer); }

}  // namespace hagane
