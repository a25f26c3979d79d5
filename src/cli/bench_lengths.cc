#include "cli/bench_lengths.h"

#include <array>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "base/error.h"

namespace hagane::cli {

namespace {

// Lengths with the vocabulary of bert-base-uncased, sorted and cut into equal slices: each number
// is the mean of one slice (means: MRPC 53.2, QQP 30.8, SST-2 13.3; windows of SQuAD 1.1, at most
// 384 tokens with a stride of 128, 176).
constexpr size_t kSlices = 128;
constexpr std::array<int32_t, kSlices> kMrpc = {
    24, 27, 28, 30, 31, 31, 33, 33, 34, 34, 35, 36, 36, 36, 37, 37, 38, 38, 38, 39, 40, 40,
    40, 40, 41, 41, 42, 42, 42, 43, 43, 43, 44, 44, 44, 45, 45, 45, 46, 46, 46, 46, 47, 47,
    47, 47, 48, 48, 49, 49, 49, 50, 50, 50, 51, 51, 51, 51, 52, 52, 53, 53, 53, 53, 53, 54,
    54, 54, 55, 55, 55, 55, 56, 56, 56, 57, 57, 57, 58, 58, 58, 59, 59, 59, 59, 59, 60, 60,
    61, 61, 61, 61, 61, 61, 62, 62, 63, 63, 64, 64, 64, 64, 64, 65, 65, 66, 66, 67, 67, 67,
    68, 68, 69, 69, 70, 70, 70, 72, 72, 72, 74, 74, 75, 76, 78, 80, 81, 90};
constexpr std::array<int32_t, kSlices> kQqp = {
    13, 14, 15, 16, 16, 17, 17, 18, 18, 18, 18, 19, 19, 19, 19, 19, 19, 20, 20, 20, 20, 21,
    21, 21, 21, 21, 21, 21, 22, 22, 22, 22, 22, 23, 23, 23, 23, 23, 23, 23, 24, 24, 24, 24,
    24, 24, 25, 25, 25, 25, 25, 25, 26, 26, 26, 26, 26, 26, 26, 27, 27, 27, 27, 27, 28, 28,
    28, 28, 28, 28, 29, 29, 29, 29, 29, 30, 30, 30, 31, 31, 31, 31, 31, 32, 32, 32, 33, 33,
    33, 34, 34, 34, 34, 35, 35, 36, 36, 37, 37, 37, 37, 38, 39, 39, 39, 40, 41, 41, 42, 42,
    43, 44, 45, 45, 47, 47, 48, 50, 51, 52, 53, 55, 57, 59, 62, 67, 74, 94};
constexpr std::array<int32_t, kSlices> kSst2 = {
    3,  3,  3,  3,  4,  4,  4,  4,  4,  4,  4,  4,  4,  4,  5,  5,  5,  5,  5,  5,  5,  5,
    5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  6,  6,  6,  6,  7,  7,  7,  7,  7,  7,  7,  7,
    8,  8,  8,  8,  8,  8,  8,  8,  8,  9,  9,  9,  9,  9,  9,  10, 10, 10, 10, 10, 10, 10,
    11, 11, 11, 11, 11, 12, 12, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15,
    16, 16, 16, 16, 16, 17, 17, 18, 18, 18, 19, 19, 19, 20, 20, 21, 21, 22, 22, 22, 23, 24,
    24, 25, 25, 26, 27, 27, 28, 29, 30, 31, 32, 33, 34, 36, 38, 40, 44, 51};
constexpr std::array<int32_t, kSlices> kSquad = {
    47,  56,  66,  72,  79,  84,  89,  92,  95,  101, 104, 107, 109, 112, 113, 115, 116, 119, 119,
    121, 121, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 132, 133, 134, 135, 136, 136, 138,
    138, 140, 141, 141, 142, 143, 144, 145, 146, 147, 147, 148, 150, 150, 151, 152, 153, 154, 155,
    156, 157, 158, 159, 161, 161, 163, 164, 166, 166, 167, 169, 169, 171, 171, 173, 175, 175, 177,
    178, 180, 180, 181, 183, 184, 185, 187, 188, 190, 192, 192, 195, 196, 197, 199, 201, 202, 204,
    206, 208, 210, 211, 214, 215, 218, 219, 221, 224, 226, 230, 233, 236, 240, 244, 249, 253, 258,
    261, 265, 269, 275, 283, 288, 294, 303, 316, 331, 358, 381, 384, 384};

std::span<const int32_t> LengthsOf(std::string_view task) {
  if (task == "mrpc") return kMrpc;
  if (task == "qqp") return kQqp;
  if (task == "sst2") return kSst2;
  if (task == "squad") return kSquad;
  throw UsageError("no lengths are known for \"" + std::string(task) + "\"",
                   "known: " + std::string(kLengthTasks) + ", or a number");
}

}  // namespace

std::vector<int32_t> BenchLengths(std::string_view task, int count) {
  const std::span<const int32_t> slices = LengthsOf(task);
  // Always the same order, and each slice as often as any other: whole rounds of all of them.
  std::mt19937 engine(42);
  std::vector<int32_t> lengths, round(slices.begin(), slices.end());
  while (lengths.size() < static_cast<size_t>(count)) {
    for (size_t i = round.size() - 1; i > 0; --i) std::swap(round[i], round[engine() % (i + 1)]);
    lengths.insert(lengths.end(), round.begin(), round.end());
  }
  lengths.resize(static_cast<size_t>(count));
  return lengths;
}

}  // namespace hagane::cli
