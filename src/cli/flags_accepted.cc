// TrainingArguments that are accepted so that an existing command line runs, and change nothing;
// and those that would change the result in a way hagane cannot follow: they stop the run when set.
#include "cli/flag.h"

namespace hagane::cli {

namespace {

Flag Ignored(const char* name, FlagType type, const char* default_text, const char* why) {
  return {name, type, default_text, FlagGroup::kAccepted, why, FlagUse::kIgnored};
}
Flag Refused(const char* name, FlagType type, const char* default_text, const char* why) {
  return {name, type, default_text, FlagGroup::kAccepted, why, FlagUse::kRefused};
}

}  // namespace

std::vector<Flag> AcceptedFlags() {
  using enum FlagType;
  const char* const reporting = "nothing is reported anywhere; see output_dir/trainer_state.json";
  const char* const loader = "data is prepared in memory before training";
  const char* const compile = "the program is compiled already";
  const char* const leader = "rank 0 alone speaks and writes";
  const char* const group = "processes work as one, in hagane's own way";
  const char* const device = "the CPU is used";
  const char* const fp16 = "float16 is not available on CPU; use --bf16";
  const char* const sharding = "models are not sharded";
  const char* const no_hub = "nothing is uploaded";
  return {
      Ignored("prediction_loss_only", kBool, "False", "metrics are cheap"),
      Ignored("eval_accumulation_steps", kInt, "", "predictions stay in memory"),
      Ignored("eval_do_concat_batches", kBool, "True", "always so"),
      Ignored("batch_eval_metrics", kBool, "False", "metrics are computed once, on all rows"),
      Ignored("eval_on_start", kBool, "False", "evaluate the model first with --do_eval alone"),
      Ignored("eval_use_gather_object", kBool, "False", group),
      Ignored("include_inputs_for_metrics", kBool, "False", "the task's metrics do not read them"),
      Ignored("include_for_metrics", kList, "", "the task's metrics do not read them"),
      Ignored("include_tokens_per_second", kBool, "False", "always printed"),
      Ignored("include_num_input_tokens_seen", kString, "", "not counted in the log"),
      Ignored("past_index", kInt, "-1", "encoders have no past"),
      Ignored("logging_dir", kString, "", reporting),
      Ignored("report_to", kList, "none", reporting),
      Ignored("run_name", kString, "", reporting),
      Ignored("project", kString, "", reporting),
      Ignored("trackio_space_id", kString, "", reporting),
      Ignored("log_level_replica", kString, "", leader),
      Ignored("log_on_each_node", kBool, "True", leader),
      Ignored("save_on_each_node", kBool, "False", leader),
      Ignored("full_determinism", kBool, "False", "always so"),
      Ignored("half_precision_backend", kString, "auto", "use --bf16"),
      Ignored("fp16_backend", kString, "auto", "use --bf16"),
      Ignored("fp16_opt_level", kString, "O1", "use --bf16"),
      Ignored("tf32", kOptionalBool, "", device),
      Ignored("jit_mode_eval", kBool, "False", compile),
      Ignored("torchdynamo", kString, "", compile),
      Ignored("torch_compile", kBool, "False", compile),
      Ignored("torch_compile_backend", kString, "", compile),
      Ignored("torch_compile_mode", kString, "", compile),
      Ignored("ddp_find_unused_parameters", kOptionalBool, "", group),
      Ignored("ddp_bucket_cap_mb", kInt, "", group),
      Ignored("ddp_broadcast_buffers", kOptionalBool, "", group),
      Ignored("ddp_static_graph", kOptionalBool, "", group),
      Ignored("average_tokens_across_devices", kBool, "True", group),
      Ignored("split_batches", kOptionalBool, "", group),
      Ignored("dispatch_batches", kOptionalBool, "", group),
      Ignored("dataloader_num_workers", kInt, "0", loader),
      Ignored("dataloader_pin_memory", kBool, "True", loader),
      Ignored("dataloader_persistent_workers", kBool, "False", loader),
      Ignored("dataloader_prefetch_factor", kInt, "", loader),
      Ignored("remove_unused_columns", kBool, "True", "columns are chosen by name"),
      Ignored("label_names", kList, "", "the column is called label"),
      Ignored("length_column_name", kString, "length", "lengths are known"),
      {"gradient_checkpointing",
       kBool,
       "False",
       FlagGroup::kAccepted,
       "activations take little without padding",
       FlagUse::kIgnored,
       {"activation_checkpointing"}},
      Ignored("gradient_checkpointing_kwargs", kDict, "", "see gradient_checkpointing"),
      Ignored("auto_find_batch_size", kBool, "False", "use --dry_run to see the memory needed"),
      Ignored("skip_memory_metrics", kBool, "True", "memory is not in the metrics"),
      Ignored("use_legacy_prediction_loop", kBool, "False", "there is one loop"),
      Ignored("neftune_noise_alpha", kFloat, "", "no noise is added"),
      Ignored("optim_args", kString, "", "AdamW's arguments have flags of their own"),
      Ignored("optim_target_modules", kList, "", "all parameters are trained"),
      Ignored("torch_empty_cache_steps", kInt, "", device),
      Ignored("restore_callback_states_from_checkpoint", kBool, "False", "there are no callbacks"),
      Ignored("accelerator_config", kString, "", group),
      Ignored("mp_parameters", kString, "", group),
      Ignored("ray_scope", kString, "last", group),
      Ignored("tpu_num_cores", kInt, "", device),
      Ignored("tpu_metrics_debug", kBool, "False", device),
      Ignored("use_mps_device", kBool, "False", device),
      Ignored("debug", kList, "", "nothing to switch on"),
      Ignored("liger_kernel_config", kDict, "", device),
      Ignored("hub_model_id", kString, "", no_hub),
      Ignored("hub_strategy", kString, "every_save", no_hub),
      Ignored("hub_private_repo", kOptionalBool, "", no_hub),
      Ignored("hub_always_push", kBool, "False", no_hub),
      Ignored("hub_revision", kString, "", no_hub),
      Ignored("push_to_hub_model_id", kString, "", no_hub),
      Ignored("push_to_hub_organization", kString, "", no_hub),
      {"hub_token",
       kString,
       "",
       FlagGroup::kAccepted,
       no_hub,
       FlagUse::kIgnored,
       {"push_to_hub_token"},
       {},
       false,
       true},

      Refused("push_to_hub", kBool, "False", "nothing is uploaded; upload output_dir afterwards"),
      Refused("fp16", kBool, "False", fp16),
      Refused("fp16_full_eval", kBool, "False", fp16),
      Refused("adafactor", kBool, "False", "AdamW is the only optimiser"),
      Refused("fsdp", kList, "", sharding),
      Refused("fsdp_config", kString, "", sharding),
      Refused("fsdp_min_num_params", kInt, "0", sharding),
      Refused("fsdp_transformer_layer_cls_to_wrap", kString, "", sharding),
      Refused("deepspeed", kString, "", sharding),
      Refused("sharded_ddp", kList, "", sharding),
      Refused("parallelism_config", kString, "", sharding),
      Refused("use_liger_kernel", kBool, "False", "those kernels are for GPUs"),
  };
}

}  // namespace hagane::cli
