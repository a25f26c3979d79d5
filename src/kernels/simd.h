// The thin vector type that kernel bodies are written over, once for all levels. A file
// NAME_LEVEL.cc defines HAGANE_SIMD_NAMESPACE (baseline, avx2, avx512) and HAGANE_SIMD_BYTES (64,
// 32, 64), includes the bodies and is compiled with that level's flags. The types are GCC's and
// Clang's vector extension, so the 64-byte body runs on any machine: as `baseline` it is the level
// of last resort and shows in every test run that the AVX-512 body is right.
//
// Everything here has internal linkage inside the level's namespace: nothing compiled for one level
// can be linked into another.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#if !defined(HAGANE_SIMD_NAMESPACE) || !defined(HAGANE_SIMD_BYTES)
#error "define HAGANE_SIMD_NAMESPACE and HAGANE_SIMD_BYTES first"
#endif

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

constexpr int64_t kLanes = HAGANE_SIMD_BYTES / 4;
typedef float Vec __attribute__((vector_size(HAGANE_SIMD_BYTES)));
typedef int32_t VecInt __attribute__((vector_size(HAGANE_SIMD_BYTES)));
typedef uint32_t VecUint __attribute__((vector_size(HAGANE_SIMD_BYTES)));
typedef uint16_t VecHalf __attribute__((vector_size(HAGANE_SIMD_BYTES / 2)));

#define HAGANE_INLINE inline __attribute__((always_inline))

template <class To, class From>
HAGANE_INLINE To BitCast(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  __builtin_memcpy(&y, &x, sizeof(To));
  return y;
}

HAGANE_INLINE Vec Set(float x) { return Vec{} + x; }
HAGANE_INLINE VecUint SetUint(uint32_t x) { return VecUint{} + x; }

HAGANE_INLINE Vec Load(const float* p) {
  Vec x;
  __builtin_memcpy(&x, p, sizeof(Vec));
  return x;
}
HAGANE_INLINE void Store(Vec x, float* p) { __builtin_memcpy(p, &x, sizeof(Vec)); }

// The first n (< kLanes) elements; the other lanes are 0 / are not written. By masks where there
// are any: element by element it is slower than the rest of a short row.
#if defined(__AVX512F__) && HAGANE_SIMD_BYTES == 64
#define HAGANE_LANE_MASKS 1
HAGANE_INLINE __mmask16 MaskOfFirst(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
#endif

HAGANE_INLINE Vec LoadFirst(const float* p, int64_t n) {
#if defined(HAGANE_LANE_MASKS)
  return BitCast<Vec>(_mm512_maskz_loadu_ps(MaskOfFirst(n), p));
#else
  Vec x = {};
  for (int64_t i = 0; i < n; ++i) x[i] = p[i];
  return x;
#endif
}
HAGANE_INLINE void StoreFirst(Vec x, float* p, int64_t n) {
#if defined(HAGANE_LANE_MASKS)
  _mm512_mask_storeu_ps(p, MaskOfFirst(n), BitCast<__m512>(x));
#else
  for (int64_t i = 0; i < n; ++i) p[i] = x[i];
#endif
}

// bf16 values are passed as their 16 bits. Rounding as base/bf16.h: nearest even, NaN made quiet.
HAGANE_INLINE VecUint RoundedBits(Vec x) {
  const VecUint bits = BitCast<VecUint>(x);
  const VecUint rounded = (bits + (0x7fffu + ((bits >> 16) & 1u))) >> 16;
  return x == x ? rounded : (bits >> 16) | 0x40u;
}
HAGANE_INLINE void StoreBf16(Vec x, uint16_t* p) {
  const VecHalf y = __builtin_convertvector(RoundedBits(x), VecHalf);
  __builtin_memcpy(p, &y, sizeof(VecHalf));
}
HAGANE_INLINE void StoreFirstBf16(Vec x, uint16_t* p, int64_t n) {
  const VecUint y = RoundedBits(x);
#if defined(HAGANE_LANE_MASKS)
  _mm512_mask_cvtepi32_storeu_epi16(p, MaskOfFirst(n), BitCast<__m512i>(y));
#else
  for (int64_t i = 0; i < n; ++i) p[i] = static_cast<uint16_t>(y[i]);
#endif
}
// x rounded to bf16 and widened again.
HAGANE_INLINE Vec RoundToBf16(Vec x) { return BitCast<Vec>(RoundedBits(x) << 16); }
HAGANE_INLINE Vec LoadBf16(const uint16_t* p) {
  VecHalf x;
  __builtin_memcpy(&x, p, sizeof(VecHalf));
  return BitCast<Vec>(__builtin_convertvector(x, VecUint) << 16);
}
HAGANE_INLINE Vec LoadFirstBf16(const uint16_t* p, int64_t n) {
#if defined(HAGANE_LANE_MASKS)
  const __m256i half = _mm256_maskz_loadu_epi16(MaskOfFirst(n), p);
  return BitCast<Vec>(BitCast<VecUint>(_mm512_cvtepu16_epi32(half)) << 16);
#else
  VecUint x = {};
  for (int64_t i = 0; i < n; ++i) x[i] = p[i];
  return BitCast<Vec>(x << 16);
#endif
}
HAGANE_INLINE float WidenBf16(uint16_t x) { return BitCast<float>(static_cast<uint32_t>(x) << 16); }

// The same for n <= kLanes elements, as the loop below gives them.
HAGANE_INLINE Vec LoadN(const float* p, int64_t n) {
  return n == kLanes ? Load(p) : LoadFirst(p, n);
}
HAGANE_INLINE void StoreN(Vec x, float* p, int64_t n) {
  n == kLanes ? Store(x, p) : StoreFirst(x, p, n);
}
HAGANE_INLINE void StoreBf16N(Vec x, uint16_t* p, int64_t n) {
  n == kLanes ? StoreBf16(x, p) : StoreFirstBf16(x, p, n);
}
HAGANE_INLINE Vec LoadBf16N(const uint16_t* p, int64_t n) {
  return n == kLanes ? LoadBf16(p) : LoadFirstBf16(p, n);
}

// For each vector of a row of `width` elements: i its first element, n how many (kLanes but at the
// end).
#define HAGANE_FOR_ROW(i, n, width)                                                            \
  for (int64_t i = 0, n; i < (width) && ((n = (width)-i < kLanes ? (width)-i : kLanes), true); \
       i += kLanes)

HAGANE_INLINE Vec Max(Vec a, Vec b) { return a > b ? a : b; }
HAGANE_INLINE Vec Min(Vec a, Vec b) { return a < b ? a : b; }
HAGANE_INLINE Vec Abs(Vec x) { return BitCast<Vec>(BitCast<VecUint>(x) & 0x7fffffffu); }

HAGANE_INLINE Vec Sqrt(Vec x) {
  for (int64_t i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}

// Sums the lanes pairwise: the order is fixed.
HAGANE_INLINE float SumLanes(Vec x) {
  float lanes[kLanes];
  Store(x, lanes);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}
HAGANE_INLINE float MaxLanes(Vec x) {
  float lanes[kLanes];
  Store(x, lanes);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i)
      lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
  }
  return lanes[0];
}

// out[2 l] = a[l], out[2 l + 1] = b[l], in two vectors.
template <class T>
HAGANE_INLINE void Zip(T a, T b, T* low, T* high) {
#if defined(__clang__)
  constexpr int kCount = sizeof(T) / sizeof(a[0]);
  for (int l = 0; l < kCount; ++l) {
    T& half = l < kCount / 2 ? *low : *high;
    half[2 * l % kCount] = a[l];
    half[2 * l % kCount + 1] = b[l];
  }
#else
  typedef decltype(a > b) Index;
  constexpr int kCount = sizeof(T) / sizeof(a[0]);
  Index first, second;
  for (int l = 0; l < kCount; ++l) {
    first[l] = l / 2 + (l % 2) * kCount;
    second[l] = kCount / 2 + l / 2 + (l % 2) * kCount;
  }
  *low = __builtin_shuffle(a, b, first);
  *high = __builtin_shuffle(a, b, second);
#endif
}

// All-ones in the first n lanes.
HAGANE_INLINE VecInt FirstLanes(int64_t n) {
  VecInt lane;
  for (int32_t i = 0; i < kLanes; ++i) lane[i] = i;
  return lane < static_cast<int32_t>(n);
}

}  // namespace
}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
