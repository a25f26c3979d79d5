#include <immintrin.h>

#include "kernels/machine_peak_loops.h"

namespace hagane::kernels::avx2 {

// Two units with a latency of 4 or 5 cycles need 8 to 10 products in flight; 12 of 16 registers
// sum.
float FmaLoop(int64_t rounds) {
  const __m256 x = _mm256_set1_ps(0.999f);
  const __m256 y = _mm256_set1_ps(0.1f);
  __m256 s0 = y, s1 = y, s2 = y, s3 = y, s4 = y, s5 = y;
  __m256 s6 = y, s7 = y, s8 = y, s9 = y, s10 = y, s11 = y;
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = _mm256_fmadd_ps(s0, x, y);
    s1 = _mm256_fmadd_ps(s1, x, y);
    s2 = _mm256_fmadd_ps(s2, x, y);
    s3 = _mm256_fmadd_ps(s3, x, y);
    s4 = _mm256_fmadd_ps(s4, x, y);
    s5 = _mm256_fmadd_ps(s5, x, y);
    s6 = _mm256_fmadd_ps(s6, x, y);
    s7 = _mm256_fmadd_ps(s7, x, y);
    s8 = _mm256_fmadd_ps(s8, x, y);
    s9 = _mm256_fmadd_ps(s9, x, y);
    s10 = _mm256_fmadd_ps(s10, x, y);
    s11 = _mm256_fmadd_ps(s11, x, y);
    // Without this the compiler sees twelve equal sums and keeps one.
    __asm__ volatile(""
                     : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4), "+x"(s5), "+x"(s6),
                       "+x"(s7), "+x"(s8), "+x"(s9), "+x"(s10), "+x"(s11));
  }
  s0 = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)),
                     _mm256_add_ps(_mm256_add_ps(s4, s5), _mm256_add_ps(s6, s7)));
  s0 = _mm256_add_ps(s0, _mm256_add_ps(_mm256_add_ps(s8, s9), _mm256_add_ps(s10, s11)));
  return _mm256_cvtss_f32(s0);
}

}  // namespace hagane::kernels::avx2
