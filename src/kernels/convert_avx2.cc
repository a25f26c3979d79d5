#include <immintrin.h>

#include "kernels/convert_loops.h"

namespace hagane::kernels::avx2 {

namespace {

// Eight values rounded to nearest even, each in the low half of its 32-bit lane; NaN made quiet.
__m256i Round(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i high = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
  const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(rounded, quiet, is_nan);
}

__m256 Widen(__m128i x) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}

// The first `size` (< 8) lanes.
__m256i TailMask(size_t size) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(size)), lanes);
}

void ToBf16(size_t size, const float* x, uint16_t* y) {
  size_t i = 0;
  for (; i + 16 <= size; i += 16) {
    const __m256i low = Round(_mm256_loadu_ps(x + i));
    const __m256i high = Round(_mm256_loadu_ps(x + i + 8));
    // packus works within 128-bit halves; the permutation puts the quarters in order.
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), packed);
  }
  for (; i < size; i += 8) {
    const size_t lanes = size - i < 8 ? size - i : 8;
    alignas(32) uint32_t rounded[8];
    const __m256 values =
        lanes < 8 ? _mm256_maskload_ps(x + i, TailMask(lanes)) : _mm256_loadu_ps(x + i);
    _mm256_store_si256(reinterpret_cast<__m256i*>(rounded), Round(values));
    for (size_t lane = 0; lane < lanes; ++lane) y[i + lane] = static_cast<uint16_t>(rounded[lane]);
  }
}

void ToFloat32(size_t size, const uint16_t* x, float* y) {
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    _mm256_storeu_ps(y + i, Widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
  if (i < size) {
    alignas(16) uint16_t tail[8] = {};
    for (size_t lane = 0; i + lane < size; ++lane) tail[lane] = x[i + lane];
    const __m256 wide = Widen(_mm_load_si128(reinterpret_cast<const __m128i*>(tail)));
    _mm256_maskstore_ps(y + i, TailMask(size - i), wide);
  }
}

void Fill(size_t size, float value, float* y) {
  const __m256 values = _mm256_set1_ps(value);
  size_t i = 0;
  for (; i + 8 <= size; i += 8) _mm256_storeu_ps(y + i, values);
  if (i < size) _mm256_maskstore_ps(y + i, TailMask(size - i), values);
}

void Add(size_t size, const float* x, float* y) {
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));
  }
  for (; i < size; ++i) y[i] += x[i];
}

}  // namespace

const ConvertLoops kConvertLoops = {ToBf16, ToFloat32, Fill, Add};

}  // namespace hagane::kernels::avx2
