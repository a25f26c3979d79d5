// The activation functions known; apart from activation.h so that the files of the levels can see
// it.
#pragma once

namespace hagane::kernels {

enum class Activation { kGelu, kGeluTanh, kRelu, kSilu, kTanh };

}  // namespace hagane::kernels
