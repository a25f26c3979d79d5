#include <Random123/philox.h>

#include "kernels/dropout_mask.h"

namespace hagane::kernels {

uint32_t DropoutWord(const DropoutSpec& spec, uint32_t sample, uint64_t element) {
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<uint32_t>(element / 4), spec.step, sample, LayerSite(spec)}};
  const r123::Philox4x32::key_type key = {
      {static_cast<uint32_t>(spec.seed), static_cast<uint32_t>(spec.seed >> 32)}};
  return r123::Philox4x32()(counter, key)[element % 4];
}

float DropoutFactor(const DropoutSpec& spec, uint32_t sample, uint64_t element) {
  if (!spec.active()) return 1.0f;
  return DropoutWord(spec, sample, element) >= DropoutThreshold(spec) ? DropoutScale(spec) : 0.0f;
}

}  // namespace hagane::kernels
