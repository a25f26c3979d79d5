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

// The high half of each 64-bit lane, in the low one; what the high one then holds is undefined. As
// a shuffle where there is a port for these: shifts would wait for the one of the multiplications.
HAGANE_INLINE VecPairs HighHalves(VecPairs x) {
#if defined(__AVX512F__) && HAGANE_SIMD_BYTES == 64
  return BitCast<VecPairs>(_mm512_shuffle_epi32(BitCast<__m512i>(x), _MM_PERM_ENUM(0xf5)));
#elif defined(__AVX2__) && HAGANE_SIMD_BYTES == 32
  return BitCast<VecPairs>(_mm256_shuffle_epi32(BitCast<__m256i>(x), 0xf5));
#else
  return x >> 32;
#endif
}

// Half a vector of counters, each in a 64-bit lane of its own: a product's low half is the next
// round's word as it stands, its high half one shuffle away. What the upper halves of words hold is
// never read.
constexpr int64_t kCounters = kLanes / 2;

constexpr int kRounds = 10;
// The keys of the rounds for all lanes: made once for a row, as making them costs as much as using.
struct RoundKeys {
  VecPairs first[kRounds], second[kRounds];
  explicit RoundKeys(const MaskKey& key) {
    uint32_t k0 = key.key0, k1 = key.key1;
    for (int round = 0; round < kRounds; ++round) {
      first[round] = VecPairs{} + k0;
      second[round] = VecPairs{} + k1;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
  }
};

// c[k][lane]: word k of the counter, encrypted in place.
HAGANE_INLINE void Philox(const RoundKeys& keys, VecPairs c[4]) {
  for (int round = 0; round < kRounds; ++round) {
    const VecPairs product0 = MultiplyLow(c[0], 0xD2511F53u);
    const VecPairs product1 = MultiplyLow(c[2], 0xCD9E8D57u);
    c[0] = HighHalves(product1) ^ c[1] ^ keys.first[round];
    c[1] = product1;
    c[2] = HighHalves(product0) ^ c[3] ^ keys.second[round];
    c[3] = product0;
  }
}

void MaskRow(const MaskKey& key, uint64_t first, int64_t size, float* mask) {
  const RoundKeys keys(key);
  const VecUint scale = SetUint(BitCast<uint32_t>(key.scale));
  // Counters of the first lanes: {block, step, sample, layer_site}, blocks one after the other.
  VecPairs block = {};
  for (int64_t i = 0; i < kCounters; ++i) {
    block[i] = static_cast<uint32_t>(first / 4) + static_cast<uint64_t>(i);
  }
  for (int64_t i = 0; i < size; i += 2 * kLanes, block += static_cast<uint64_t>(kCounters)) {
    VecPairs words[4] = {block, VecPairs{} + key.step, VecPairs{} + key.sample,
                         VecPairs{} + key.layer_site};
    Philox(keys, words);
    // Word k of lane l belongs to element 4 l + k.
    const VecPairs pairs01 = (words[0] & 0xffffffffull) | (words[1] << 32);
    const VecPairs pairs23 = (words[2] & 0xffffffffull) | (words[3] << 32);
    VecPairs elements[2];
    Zip(pairs01, pairs23, &elements[0], &elements[1]);
    for (int half = 0; half < 2; ++half) {
      const VecUint word = BitCast<VecUint>(elements[half]);
      const VecUint kept = BitCast<VecUint>(word >= key.threshold) & scale;
      __builtin_memcpy(mask + i + half * kLanes, &kept, sizeof(kept));
    }
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
