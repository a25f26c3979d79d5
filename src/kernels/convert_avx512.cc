#include <immintrin.h>

#include "kernels/convert_loops.h"

namespace hagane::kernels::avx512 {

namespace {

// The first `size` lanes, all 16 when there are more.
__mmask16 Lanes(size_t size) {
  return static_cast<__mmask16>(size >= 16 ? 0xffffu : (1u << size) - 1u);
}

// Sixteen values rounded to nearest even; NaN made quiet. Not the bf16 instruction: that one
// flushes denormals, which the other levels keep.
__m256i Round(__m512 x) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i high = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i bias = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
  const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
  const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(
      _mm512_mask_or_epi32(rounded, is_nan, high, _mm512_set1_epi32(0x40)));
}

void ToBf16(size_t size, const float* x, uint16_t* y) {
  for (size_t i = 0; i < size; i += 16) {
    const __mmask16 lanes = Lanes(size - i);
    _mm256_mask_storeu_epi16(y + i, lanes, Round(_mm512_maskz_loadu_ps(lanes, x + i)));
  }
}

void ToFloat32(size_t size, const uint16_t* x, float* y) {
  for (size_t i = 0; i < size; i += 16) {
    const __mmask16 lanes = Lanes(size - i);
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, x + i));
    _mm512_mask_storeu_ps(y + i, lanes, _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16)));
  }
}

void Fill(size_t size, float value, float* y) {
  const __m512 values = _mm512_set1_ps(value);
  for (size_t i = 0; i < size; i += 16) _mm512_mask_storeu_ps(y + i, Lanes(size - i), values);
}

void Add(size_t size, const float* x, float* y) {
  for (size_t i = 0; i < size; i += 16) {
    const __mmask16 lanes = Lanes(size - i);
    const __m512 sum =
        _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, y + i), _mm512_maskz_loadu_ps(lanes, x + i));
    _mm512_mask_storeu_ps(y + i, lanes, sum);
  }
}

}  // namespace

const ConvertLoops kConvertLoops = {ToBf16, ToFloat32, Fill, Add};

}  // namespace hagane::kernels::avx512
