#include "cli/kv_words.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

namespace specgen {

void KvWords::add_to(CLI::App& app) {
  app_ = app.add_subcommand(
      "kv",
      "settings, figures and the gateway of the KV cache\n\n"
      "  specgen kv config --engine E [--node ADDR] [--model NAME]   what to write where, and when "
      "it pays\n"
      "  specgen kv stats --node ADDR                                what a node holds and did\n"
      "  specgen kv gateway --listen ADDR --node ADDR...             many nodes as one, on the "
      "serving host\n\n"
      "ADDR is HOST:PORT or unix:PATH. Nodes are started with specgen-node --kv SIZE --kv-listen "
      "ADDR;\n"
      "docs/kvcache.md has the whole.");
  app_->add_option("ACTION", action_, "config, stats or gateway")->required();
  app_->add_option("--engine", config_.engine, "vllm, sglang or llamacpp")->type_name("E");
  app_->add_option(
          "--node", nodes_,
          "a node; for the gateway as many as there are, each with its share: ADDR,weight=2")
      ->type_name("ADDR")
      ->allow_extra_args(false);
  app_->add_option("--model", config_.model, "a model whose shape is known, such as Llama-3.1-8B")
      ->type_name("NAME");
  app_->add_option("--layers", config_.layers, "of a model that is not known")->type_name("N");
  app_->add_option("--kv-heads", config_.kv_heads, "the same: heads of keys and values")
      ->type_name("N");
  app_->add_option("--head-dim", config_.head_dim, "the same: the length of one")->type_name("N");
  app_->add_option("--dtype", config_.dtype, "of the KV: bf16 (default), fp16, fp8, fp32")
      ->type_name("T");
  app_->add_option("--bytes-per-token", config_.bytes_per_token, "instead of a shape")
      ->type_name("N");
  app_->add_option("--tp", config_.tensor_parallel,
                   "over how many GPUs one server's heads are split (default 1)")
      ->type_name("N");
  app_->add_option("--prefill", config_.prefill_tokens_per_s,
                   "what the engine computes, in tokens per second")
      ->type_name("N");
  app_->add_option("--listen", listen_, "where the gateway listens; port 0 takes one that is free")
      ->type_name("ADDR");
  app_->add_option("--threads", threads_, "of the gateway (default: half of the cores, 8 at most)")
      ->type_name("N");
  app_->add_option("--password-file", config_.password_file,
                   "what nodes ask for, and the gateway too")
      ->type_name("FILE");
  app_->add_flag("--json", config_.json,
                 "print one JSON document (schema specgen.kv-config or specgen.kv-stats)")
      ->disable_flag_override();
}

std::optional<Result<Invocation>> KvWords::chosen() const {
  if (!app_->parsed()) return std::nullopt;
  return look();
}

Result<ConfigureKv> KvWords::config() const {
  ConfigureKv config = config_;
  if (config.engine.empty())
    return fail(ErrorCode::bad_usage, "kv config needs --engine vllm, sglang or llamacpp");
  if (nodes_.size() > 1) {
    return fail(ErrorCode::bad_usage, "an engine is set up for one --node",
                "for many nodes, name the gateway's address");
  }
  if (!nodes_.empty()) config.node = nodes_[0];
  bool any_shape = config.layers || config.kv_heads || config.head_dim;
  bool whole_shape = config.layers > 0 && config.kv_heads > 0 && config.head_dim > 0;
  if (any_shape && !whole_shape) {
    return fail(ErrorCode::bad_usage,
                "a shape is --layers, --kv-heads and --head-dim, all above 0");
  }
  bool bytes = app_->count("--bytes-per-token") > 0;
  if (bytes && !(config.bytes_per_token >= 1)) {
    return fail(ErrorCode::bad_usage, "--bytes-per-token must be at least 1");
  }
  if (int(!config.model.empty()) + int(whole_shape) + int(bytes) > 1) {
    return fail(ErrorCode::bad_usage, "give one of --model, a shape, and --bytes-per-token");
  }
  if (app_->count("--prefill") > 0 && !(config.prefill_tokens_per_s > 0)) {
    return fail(ErrorCode::bad_usage, "--prefill must be above 0");
  }
  if (config.tensor_parallel < 1 || config.tensor_parallel > 1024) {
    return fail(ErrorCode::bad_usage, "--tp must be between 1 and 1024");
  }
  return config;
}

Result<Invocation> KvWords::look() const {
  Invocation invocation;
  if (action_ == "config") {
    invocation.what = TRY(config());
  } else if (action_ == "stats") {
    if (nodes_.size() != 1) return fail(ErrorCode::bad_usage, "kv stats needs one --node");
    invocation.what = ShowKvStats{
        .node = nodes_[0], .password_file = config_.password_file, .json = config_.json};
  } else if (action_ == "gateway") {
    if (listen_.empty() || nodes_.empty()) {
      return fail(ErrorCode::bad_usage, "kv gateway needs --listen and at least one --node");
    }
    if (threads_ < 0 || threads_ > 64)
      return fail(ErrorCode::bad_usage, "--threads must be between 1 and 64");
    invocation.what = ServeKvGateway{.listen = listen_,
                                     .nodes = nodes_,
                                     .threads = threads_,
                                     .password_file = config_.password_file};
  } else {
    return fail(ErrorCode::bad_usage,
                fmt::format("kv: '{}' is none of config, stats, gateway", action_),
                "see `specgen kv --help`");
  }
  return invocation;
}

}  // namespace specgen
