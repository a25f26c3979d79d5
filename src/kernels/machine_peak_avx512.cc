#include <immintrin.h>

#include "kernels/machine_peak_loops.h"

namespace hagane::kernels::avx512 {

float FmaLoop(int64_t rounds) {
  const __m512 x = _mm512_set1_ps(0.999f);
  const __m512 y = _mm512_set1_ps(0.1f);
  __m512 s0 = y, s1 = y, s2 = y, s3 = y, s4 = y, s5 = y, s6 = y, s7 = y;
  __m512 s8 = y, s9 = y, s10 = y, s11 = y, s12 = y, s13 = y, s14 = y, s15 = y;
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = _mm512_fmadd_ps(s0, x, y);
    s1 = _mm512_fmadd_ps(s1, x, y);
    s2 = _mm512_fmadd_ps(s2, x, y);
    s3 = _mm512_fmadd_ps(s3, x, y);
    s4 = _mm512_fmadd_ps(s4, x, y);
    s5 = _mm512_fmadd_ps(s5, x, y);
    s6 = _mm512_fmadd_ps(s6, x, y);
    s7 = _mm512_fmadd_ps(s7, x, y);
    s8 = _mm512_fmadd_ps(s8, x, y);
    s9 = _mm512_fmadd_ps(s9, x, y);
    s10 = _mm512_fmadd_ps(s10, x, y);
    s11 = _mm512_fmadd_ps(s11, x, y);
    s12 = _mm512_fmadd_ps(s12, x, y);
    s13 = _mm512_fmadd_ps(s13, x, y);
    s14 = _mm512_fmadd_ps(s14, x, y);
    s15 = _mm512_fmadd_ps(s15, x, y);
    // Without this the compiler sees sixteen equal sums and keeps one.
    __asm__ volatile(""
                     : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5), "+v"(s6),
                       "+v"(s7), "+v"(s8), "+v"(s9), "+v"(s10), "+v"(s11), "+v"(s12), "+v"(s13));
    __asm__ volatile("" : "+v"(s14), "+v"(s15));
  }
  s0 = _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(s0, s1), _mm512_add_ps(s2, s3)),
                     _mm512_add_ps(_mm512_add_ps(s4, s5), _mm512_add_ps(s6, s7)));
  s8 = _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(s8, s9), _mm512_add_ps(s10, s11)),
                     _mm512_add_ps(_mm512_add_ps(s12, s13), _mm512_add_ps(s14, s15)));
  return _mm512_cvtss_f32(_mm512_add_ps(s0, s8));
}

}  // namespace hagane::kernels::avx512
