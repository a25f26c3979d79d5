// predict_results_<task>.txt.
#pragma once

#include <span>
#include <string>

#include "data/text_dataset.h"

namespace hagane::cli {

// "index<TAB>prediction", then a line for each row: the class's name, the value with three
// decimals, or the list of names (multi-label, probability above a half).
std::string PredictionsText(const data::LabelSpec& labels, std::span<const float> logits);

}  // namespace hagane::cli
