// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"), one counter a
// lane.
#pragma once

#include <immintrin.h>

#include "kernels/dropout_loops.h"
#include "kernels/simd.h"

namespace hagane::kernels::HAGANE_SIMD_NAMESPACE {
namespace {

typedef uint64_t VecPairs __attribute__((vector_size(HAGANE_SIMD_BYTES)));

// The low half of each 64-bit lane times m. By intrinsics, as compilers make a 64-bit
// multiplication of the plain form: several times slower.
HAGANE_INLINE VecPairs MultiplyLow(VecPairs x, uint32_t m) {
#if defined(__AVX512F__) && HAGANE_SIMD_BYTES == 64
  return BitCast<VecPairs>(_mm512_mul_epu32(BitCast<__m512i>(x), _mm512_set1_epi64(m)));
#elif defined(__AVX2__) && HAGANE_SIMD_BYTES == 32
  return BitCast<VecPairs>(_mm256_mul_epu32(BitCast<__m256i>(x), _mm256_set1_epi64x(m)));
#else
  return (x & 0xffffffffull) * static_cast<uint64_t>(m);
#endif
}

// Low and high 32 bits of a * m.
HAGANE_INLINE void Multiply(VecUint a, uint32_t m, VecUint* low, VecUint* high) {
  // Even lanes sit in the low halves of 64-bit lanes, odd ones in the high halves: two widening
  // multiplications, as the instruction has them.
  const VecPairs pairs = BitCast<VecPairs>(a);
  const VecPairs even = MultiplyLow(pairs, m);
  const VecPairs odd = MultiplyLow(pairs >> 32, m);
  *low = BitCast<VecUint>((even & 0xffffffffull) | (odd << 32));
  *high = BitCast<VecUint>((even >> 32) | (odd & ~0xffffffffull));
}

// words[k][lane]: word k of the counter {first_block + lane, step, sample, layer_site}.
HAGANE_INLINE void PhiloxWords(const MaskKey& key, uint32_t first_block, VecUint words[4]) {
  VecUint c0 = {};
  for (uint32_t i = 0; i < kLanes; ++i) c0[i] = first_block + i;
  VecUint c1 = SetUint(key.step), c2 = SetUint(key.sample), c3 = SetUint(key.layer_site);
  uint32_t k0 = key.key0, k1 = key.key1;
  for (int round = 0; round < 10; ++round) {
    VecUint low0, high0, low1, high1;
    Multiply(c0, 0xD2511F53u, &low0, &high0);
    Multiply(c2, 0xCD9E8D57u, &low1, &high1);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  words[0] = c0;
  words[1] = c1;
  words[2] = c2;
  words[3] = c3;
}

// out[4 l + k] = words[k][l], by zipping first single words, then pairs of them.
HAGANE_INLINE void StoreInterleaved(const VecUint words[4], float* out) {
  typedef uint64_t VecPair __attribute__((vector_size(HAGANE_SIMD_BYTES)));
  VecUint pairs01[2], pairs23[2];
  Zip(words[0], words[1], &pairs01[0], &pairs01[1]);
  Zip(words[2], words[3], &pairs23[0], &pairs23[1]);
  for (int half = 0; half < 2; ++half) {
    VecPair quads[2];
    Zip(BitCast<VecPair>(pairs01[half]), BitCast<VecPair>(pairs23[half]), &quads[0], &quads[1]);
    __builtin_memcpy(out + 2 * half * kLanes, &quads[0], sizeof(VecPair));
    __builtin_memcpy(out + (2 * half + 1) * kLanes, &quads[1], sizeof(VecPair));
  }
}

void MaskRow(const MaskKey& key, uint64_t first, int64_t size, float* mask) {
  const VecUint scale = SetUint(BitCast<uint32_t>(key.scale));
  for (int64_t i = 0; i < size; i += 4 * kLanes) {
    VecUint words[4];
    PhiloxWords(key, static_cast<uint32_t>((first + static_cast<uint64_t>(i)) / 4), words);
    VecUint kept[4];
    for (int k = 0; k < 4; ++k) kept[k] = BitCast<VecUint>(words[k] >= key.threshold) & scale;
    // Word k of lane l belongs to element 4 l + k.
    StoreInterleaved(kept, mask + i);
  }
}

void Apply(int64_t size, const float* x, const float* mask, float* y, uint16_t* y_bf16) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const Vec value = Load(x + i) * Load(mask + i);
    Store(value, y + i);
    if (y_bf16 != nullptr) StoreBf16(value, y_bf16 + i);
  }
  if (i < size) {
    const Vec value = LoadFirst(x + i, size - i) * LoadFirst(mask + i, size - i);
    StoreFirst(value, y + i, size - i);
    if (y_bf16 != nullptr) StoreFirstBf16(value, y_bf16 + i, size - i);
  }
}

}  // namespace

const DropoutLoops kDropoutLoops = {MaskRow, Apply};

}  // namespace hagane::kernels::HAGANE_SIMD_NAMESPACE
