// Losses of heads on logits [rows, outputs], float32 throughout, each with its gradient.
// All return the SUM over what they average in PyTorch, in double, and write
// dlogits = scale * d(sum)/d(logits); the caller passes scale = 1 / (what the update averages
// over). Values are few (of sequences, or two a token), so these are plain loops on one thread.
#pragma once

#include <cstdint>

namespace hagane::kernels {

// Sum over rows of (1 - eps) * -log p[label] + eps * mean over classes of -log p, p =
// softmax(logits). labels[i] in [0, outputs); eps = label_smoothing_factor. dlogits may be null.
double SoftmaxCrossEntropy(int64_t rows, int64_t outputs, const float* logits,
                           const int32_t* labels, float eps, double scale, float* dlogits);

// Sum over rows * outputs of (logits - targets)^2.
double SquaredError(int64_t rows, int64_t outputs, const float* logits, const float* targets,
                    double scale, float* dlogits);

// Sum over rows * outputs of binary cross entropy with logits; targets in [0, 1].
double BinaryCrossEntropy(int64_t rows, int64_t outputs, const float* logits, const float* targets,
                          double scale, float* dlogits);

// Answer spans: logits [tokens, 2] hold start and end logit of each token, cu_seqlens [sequences +
// 1] where each sequence begins. Sum over sequences of (CE(start) + CE(end)) / 2, each softmax over
// the sequence's own tokens (BertForQuestionAnswering's loss, where nothing is padded). A label
// outside its sequence adds nothing to the loss and has no gradient, as PyTorch's ignore_index;
// features of hagane have none.
double SpanCrossEntropy(int64_t sequences, const int32_t* cu_seqlens, const float* logits,
                        const int32_t* starts, const int32_t* ends, double scale, float* dlogits);

}  // namespace hagane::kernels
