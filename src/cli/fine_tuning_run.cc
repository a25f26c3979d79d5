// The order of the steps, and everything before the plan.
#include "cli/fine_tuning_run.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/run_sources.h"
#include "cli/stop_signals.h"
#include "cli/version.h"
#include "data/feature_cache.h"
#include "data/interrupted.h"
#include "io/checkpoint.h"
#include "io/json.h"
#include "train/checkpoint.h"

namespace hagane::cli {

namespace {

constexpr int64_t kDryRunRows = 1000;

}  // namespace

FineTuningRun::FineTuningRun(const RunArguments& arguments, Task* task, const RunContext& ctx,
                             comm::Group* group, double peak_gflops, Console* console)
    : arguments_(arguments),
      task_(task),
      ctx_(ctx),
      group_(group),
      peak_gflops_(peak_gflops),
      console_(console),
      options_(arguments.train) {}

FineTuningRun::~FineTuningRun() = default;

int FineTuningRun::Run() {
  try {
    RunSteps();
    return 0;
  } catch (const data::Interrupted&) {
    console_->ShowStatus("");
    SayInterrupted();
    return kExitInterrupted;
  }
}

void FineTuningRun::RunSteps() {
  const bool dry_run = arguments_.presentation.dry_run;
  OpenSources();
  Together("all ranks to read the data", [&] {
    task_->ReadData(*config_, dry_run ? std::optional(kDryRunRows) : std::nullopt, *console_);
    if (!dry_run && group_->leads()) {
      folder_ = std::make_unique<RunFolder>(
          arguments_.output, FolderUse{arguments_.do_train, arguments_.all_arguments}, ctx_);
    }
  });
  // The first rank of each host, then the others from its cache.
  const bool first = group_->me().local_rank == 0;
  Together("the first rank of each host to tokenise", [&] {
    if (first) Tokenise();
  });
  Together("all ranks to read the tokens", [&] {
    if (!first) Tokenise();
  });
  if (!dry_run) FindStart();
  Together("all ranks to load the weights", [&] { LoadWeights(); });
  if (dry_run) return DryRun();
  SayPlan();

  if (arguments_.do_train) Train();
  if (arguments_.do_eval) Evaluate();
  if (arguments_.do_predict) Predict();
  if (group_->leads()) Finish();
}

void FineTuningRun::SayInterrupted() {
  if (trainer_ != nullptr) trainer_->SaveIfUnsaved();
  const bool saved = folder_ != nullptr && arguments_.do_train &&
                     !io::ListCheckpoints(arguments_.output.path).empty();
  Say(saved ? fmt::format("interrupted; the state is saved in {}. Run the same command again to go "
                          "on.",
                          arguments_.output.path.string())
            : "interrupted before there was a state to save. Run the same command again to start "
              "over.");
}

void FineTuningRun::OpenSources() {
  const ModelSource& source = arguments_.model;
  model_folder_ = ResolveModelFolder(source, source.name_or_path);
  const auto folder_of = [&](const std::string& name) {
    return name.empty() ? model_folder_ : ResolveModelFolder(source, name);
  };
  WithHint("correct the file, or download the model again", [&] {
    config_ =
        std::make_unique<io::ModelConfig>(io::ModelConfig::Read(folder_of(source.config_name)));
    encoder_ = nn::ParseEncoderConfig(config_->raw(), config_->origin());
    tokenizer_folder_ = folder_of(source.tokenizer_name);
    tokenizer_ =
        text::LoadTokenizer(tokenizer_folder_, config_->GetString("model_type", ""), *console_);
  });
  max_length_ = ClampMaxLength(arguments_.data.max_seq_length, *tokenizer_, encoder_, *console_);
}

void FineTuningRun::Tokenise() {
  TokeniseJob job{
      ctx_,    *tokenizer_, max_length_, arguments_.data.overwrite_cache, FeatureCacheFolder(),
      nullptr, *console_};
  if (arguments_.presentation.progress_bar) {
    job.progress = [this](const std::string& what, int64_t done, int64_t of) {
      console_->ShowStatus(done == of ? ""
                                      : DrawBar(static_cast<double>(done) / static_cast<double>(of),
                                                fmt::format("{}: {} of {}", what, done, of),
                                                console_->streams().width));
    };
  }
  task_->Tokenise(job);
  if (task_->train()) CheckIds(*task_->train()->features, encoder_, config_->origin());
  for (const auto* splits : {&task_->evaluation(), &task_->prediction()}) {
    for (const TaskSplit& split : *splits) CheckIds(*split.features, encoder_, config_->origin());
  }
}

void FineTuningRun::Together(const char* what, const std::function<void()>& body) {
  bool stopped = false;
  try {
    body();
    data::StopIfAsked(ctx_);
  } catch (const data::Interrupted&) {
    stopped = true;
  }
  if (group_->Any(stopped, what, comm::kWhileAlive)) throw data::Interrupted();
}

void FineTuningRun::FindStart() {
  io::RunOrigin origin;
  origin.program_version = ProgramVersion();
  origin.ranks = group_->size();
  if (task_->train()) {
    origin.data = data::FingerprintOf(*task_->train()->features);
    origin.start_weights = arguments_.model.init_from_scratch
                               ? io::FingerprintOf(io::DumpPython(config_->raw(), 2, true))
                               : io::FingerprintOfWeights(model_folder_);
  }
  std::string resume_from;
  if (group_->leads()) {
    const auto start = folder_->FindStart(std::move(origin), *console_);
    options_.origin = folder_->origin();
    if (start) resume_from = start->string();
  } else {
    options_.origin = std::move(origin);
  }
  constexpr char kWhat[] = "rank 0 to find where training starts";
  resume_from = group_->FromLeader(resume_from, kWhat, comm::kWhileAlive);
  options_.resume_from.reset();
  if (resume_from.empty()) return;
  options_.resume_from = resume_from;
  int64_t batch = group_->leads() ? BatchToGoOnWith() : 0;
  group_->BroadcastFromLeader(std::as_writable_bytes(std::span(&batch, 1)), kWhat,
                              comm::kWhileAlive);
  options_.global_batch = batch;
}

int64_t FineTuningRun::BatchToGoOnWith() const {
  const int64_t asked = options_.GlobalBatch(group_->size());
  const int64_t batch = train::GlobalBatchToKeep(*options_.resume_from, options_).value_or(asked);
  if (batch != asked) {
    Say(fmt::format(
        "an update stays {} rows, as in {}: the flags and {} process{} alone would make "
        "it {}",
        batch, options_.resume_from->filename().string(), group_->size(),
        group_->alone() ? "" : "es", asked));
  }
  return batch;
}

nn::ModelOptions FineTuningRun::ModelOptionsOf(bool bf16) const {
  nn::ModelOptions options = task_->model_options();
  options.bf16 = bf16;
  options.seed = options_.seed;
  options.init_from_scratch = arguments_.model.init_from_scratch;
  return options;
}

std::string FineTuningRun::ArchitectureName() const {
  return nn::ArchitectureName(config_->raw(), config_->origin(), task_->model_options().problem);
}

void FineTuningRun::LoadWeights() {
  // An evaluation alone may as well be in bf16 from the start.
  const bool bf16 = arguments_.bf16 || (arguments_.bf16_full_eval && !arguments_.do_train);
  WithHint("the file may be incomplete: download the model again", [&] {
    model_ = nn::LoadModel(ctx_, model_folder_, config_->raw(), config_->origin(),
                           ModelOptionsOf(bf16), &load_report_);
  });
  const std::string architecture = ArchitectureName();
  Say(fmt::format("model: {} ({}), {} parameters", arguments_.model.name_or_path, architecture,
                  WithCommas(model_->parameters().count())));
  SayWhatWasLoaded(load_report_, architecture, arguments_.model.name_or_path, *console_);
}

}  // namespace hagane::cli
