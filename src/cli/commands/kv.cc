#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command_loop.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "kvcache/engine_settings.h"
#include "kvcache/kv_gateway.h"
#include "kvcache/link_speed.h"
#include "kvcache/model_shape.h"
#include "kvcache/node_client.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr double kExampleTokens = 16384;  // a prefix whose times are shown

struct KvOptions {
  std::string action;
  std::string engine;
  std::vector<std::string> nodes;  // of the gateway: HOST:PORT[,weight=N]
  std::string model;               // a name of the table; empty: by shape
  int layers = 0, kv_heads = 0, head_dim = 0;
  std::string dtype = "bf16";
  std::optional<double> bytes_per_token;
  int tensor_parallel = 1;
  std::optional<double> prefill_tokens_per_s;
  std::string listen;
  int threads = 0;  // of the gateway; 0: half of the cores
  std::string password_file;
  bool json = false;

  bool has_shape() const { return layers > 0 && kv_heads > 0 && head_dim > 0; }
  std::string node() const { return nodes.empty() ? std::string() : nodes.front(); }
};

// The file's text without the white space around it; empty if no file is named.
Result<std::string> read_password(const std::string& file) {
  if (file.empty()) return std::string();
  std::string text = TRY(read_file(file, KiB(4)));
  std::string password(trim(text));
  if (password.empty())
    return fail(ErrorCode::bad_usage, fmt::format("--password-file: {} is empty", file));
  return password;
}

struct Link {
  std::string name;
  double bytes_per_s = 0;
  bool measured = false;
};

struct Advice {
  Engine engine = Engine::vllm;
  std::string node;
  std::string model;
  double token_bytes = 0;
  int chunk = 0;
  double value_bytes = 0;
  double prefill = 0;
  EngineSettings settings;
  std::vector<Link> links;
  std::string no_measurement;  // why the node was not measured; empty if it was
};

Result<double> token_bytes_of(const KvOptions& options) {
  if (options.bytes_per_token) return *options.bytes_per_token;
  ModelShape shape;
  if (!options.model.empty()) {
    shape = TRY(find_model(options.model));
  } else if (options.has_shape()) {
    shape.layers = options.layers;
    shape.kv_heads = options.kv_heads;
    shape.head_dim = options.head_dim;
  } else {
    return 0.0;
  }
  shape.element_bytes = TRY(element_bytes(options.dtype));
  return bytes_per_token(shape);
}

void measure_node(const KvOptions& options, const KvAddress& address, Advice& advice) {
  auto speed = [&]() -> Result<LinkSpeed> {
    NodeClient client = TRY(NodeClient::connect(address, 3s));
    std::string password = TRY(read_password(options.password_file));
    if (!password.empty()) TRY(client.authenticate(password));
    return measure_link(client);
  }();
  if (!speed) {
    advice.no_measurement = speed.error().summary();
  } else if (!speed->get_bytes_per_s) {
    advice.no_measurement = "the node did not keep the values of the measurement";
  } else {
    advice.links.push_back({"to " + address.text(), *speed->get_bytes_per_s, true});
  }
}

Result<Advice> advise(const KvOptions& options) {
  Advice advice;
  advice.engine = TRY(engine_named(options.engine));
  advice.node = options.node();
  advice.model = options.model;
  advice.token_bytes = TRY(token_bytes_of(options));
  advice.prefill = options.prefill_tokens_per_s.value_or(0);
  EngineSettingsRequest question;
  question.engine = advice.engine;
  question.node = {.host = "NODE", .port = 6380, .path = {}};
  if (!options.node().empty()) question.node = TRY(parse_kv_address(options.node()));
  if (!options.model.empty()) question.model = options.model;
  question.password = !options.password_file.empty();
  // Without a model: LMCache's own default, which works with every model and is best for none.
  if (advice.token_bytes > 0)
    question.chunk = chunk_tokens(advice.token_bytes, options.tensor_parallel);
  advice.chunk = question.chunk;
  advice.value_bytes = advice.token_bytes / options.tensor_parallel * advice.chunk;
  advice.settings = engine_settings(question);
  if (advice.engine == Engine::llamacpp) return advice;
  if (!options.node().empty()) measure_node(options, question.node, advice);
  if (auto loopback = loopback_bytes_per_s())
    advice.links.push_back({"loopback of this host", *loopback, true});
  for (int gigabits : {10, 25, 100}) {
    advice.links.push_back({fmt::format("{} Gbit/s", gigabits), gigabits * 1e9 / 8, false});
  }
  return advice;
}

bool pays(const Advice& advice, const Link& link) {
  return fetched_tokens_per_s(link.bytes_per_s, advice.token_bytes) > advice.prefill;
}

std::string gigabytes(double bytes_per_s) {
  return fmt::format("{:.2f} GB/s", bytes_per_s / 1e9);
}

std::string break_even_text(const Advice& advice) {
  if (advice.token_bytes <= 0) {
    return "When it pays: give --model, a shape or --bytes-per-token, and --prefill, to see.\n";
  }
  std::string text =
      fmt::format("When it pays: a token has {:.0f} bytes of KV, {:.0f} tokens {:.2f} GB.",
                  advice.token_bytes, kExampleTokens, kExampleTokens * advice.token_bytes / 1e9);
  if (advice.prefill > 0) {
    text +=
        fmt::format(" At {} tokens/s of prefill, break-even is at {}.",
                    format_count(advice.prefill), gigabytes(advice.prefill * advice.token_bytes));
  }
  text += '\n';
  for (const Link& link : advice.links) {
    double tokens = fetched_tokens_per_s(link.bytes_per_s, advice.token_bytes);
    std::string verdict =
        advice.prefill > 0 ? fmt::format("{:.2f} s against {:.2f} s of computing: {}",
                                         kExampleTokens / tokens, kExampleTokens / advice.prefill,
                                         pays(advice, link) ? "pays" : "does not pay")
                           : fmt::format("pays if the engine computes less than {} tokens/s",
                                         format_count(tokens));
    text += fmt::format("  {:<28} {:>11}{}  {}\n", link.name, gigabytes(link.bytes_per_s),
                        link.measured ? " (measured)" : "           ", verdict);
  }
  return text;
}

std::string advice_text(const Advice& advice) {
  std::string text;
  for (const SettingsBlock& block : advice.settings.blocks) {
    text += fmt::format("{}:\n\n", block.is_file ? "file " + block.title : block.title);
    for (std::string_view line : split(trim(block.text), '\n'))
      text += fmt::format("    {}\n", line);
    text += '\n';
  }
  for (const std::string& note : advice.settings.notes) text += fmt::format("- {}\n", note);
  text += '\n';
  if (advice.engine == Engine::llamacpp) return text;
  if (advice.value_bytes > 0) {
    text += fmt::format("Chunks of {} tokens make values of {}.\n", advice.chunk,
                        format_bytes(Bytes{static_cast<std::uint64_t>(advice.value_bytes)}));
  }
  if (!advice.no_measurement.empty())
    text += fmt::format("The node was not measured: {}\n", advice.no_measurement);
  return text + break_even_text(advice);
}

boost::json::value number_or_null(double number) {
  return number > 0 ? boost::json::value(number) : boost::json::value();
}

std::string advice_json(const Advice& advice) {
  boost::json::object json{{"schema", "specgen.kv-config"},
                           {"schema_version", 1},
                           {"specgen_version", version()},
                           {"engine", to_string(advice.engine)},
                           {"node", nullptr},
                           {"model", nullptr},
                           {"bytes_per_token", number_or_null(advice.token_bytes)},
                           {"chunk_tokens", advice.chunk},
                           {"value_bytes", number_or_null(advice.value_bytes)}};
  if (!advice.node.empty()) json["node"] = advice.node;
  if (!advice.model.empty()) json["model"] = advice.model;
  boost::json::array blocks, notes, links;
  for (const SettingsBlock& block : advice.settings.blocks) {
    blocks.push_back(boost::json::object{{"title", block.title},
                                         {"kind", block.is_file ? "file" : "command"},
                                         {"text", block.text}});
  }
  for (const std::string& note : advice.settings.notes) notes.emplace_back(note);
  for (const Link& link : advice.links) {
    boost::json::object row{{"link", link.name},
                            {"measured", link.measured},
                            {"bytes_per_s", link.bytes_per_s},
                            {"fetched_tokens_per_s", nullptr},
                            {"pays", nullptr}};
    if (advice.token_bytes > 0) {
      row["fetched_tokens_per_s"] = fetched_tokens_per_s(link.bytes_per_s, advice.token_bytes);
      if (advice.prefill > 0) row["pays"] = pays(advice, link);
    }
    links.push_back(std::move(row));
  }
  json["settings"] = std::move(blocks);
  json["notes"] = std::move(notes);
  boost::json::object even{{"prefill_tokens_per_s", number_or_null(advice.prefill)},
                           {"bytes_per_s", number_or_null(advice.prefill * advice.token_bytes)},
                           {"links", std::move(links)},
                           {"not_measured", nullptr}};
  if (!advice.no_measurement.empty()) even["not_measured"] = advice.no_measurement;
  json["break_even"] = std::move(even);
  return pretty_json(json);
}

Result<ExitCode> configure(const KvOptions& options) {
  Advice advice = TRY(advise(options));
  TRY(print_output(options.json ? advice_json(advice) : advice_text(advice)));
  return ExitCode::done;
}

Result<ExitCode> print_stats(const KvOptions& options) {
  NodeClient client = TRY(NodeClient::connect(TRY(parse_kv_address(options.node())), 5s));
  std::string password = TRY(read_password(options.password_file));
  if (!password.empty()) TRY(client.authenticate(password));
  // Lines of a name and a number, as Prometheus reads them.
  std::string answer = TRY(client.request({"KV.STATS"}));
  boost::json::object figures;
  std::string text;
  for (std::string_view line : split(answer, '\n')) {
    line = trim(line);
    std::size_t space = line.rfind(' ');
    if (line.empty() || line.starts_with('#') || space == std::string_view::npos) continue;
    std::string_view name = line.substr(0, space), value = line.substr(space + 1);
    text += fmt::format("{:<64} {:>16}\n", name, value);
    auto number = parse_json(value);
    figures[name] = number && number->is_number() ? *number : boost::json::value(value);
  }
  boost::json::object json{{"schema", "specgen.kv-stats"},
                           {"schema_version", 1},
                           {"specgen_version", version()},
                           {"node", options.node()},
                           {"figures", std::move(figures)}};
  TRY(print_output(options.json ? pretty_json(json) : text));
  return ExitCode::done;
}

Task<Result<bool>> serve_gateway(CommandLoop& command, KvGatewaySettings settings) {
  std::size_t nodes = settings.nodes.size();
  auto gateway = CO_TRY(KvGateway::start(std::move(settings)));
  // On standard output, so that a program that started this one can read the address.
  CO_TRY(print_output(fmt::format("listening on {} for {} {}\n", gateway->address(), nodes,
                                  nodes == 1 ? "node" : "nodes")));
  co_await command.loop.sleep_until(Time::max());
  co_return true;
}

Result<ExitCode> run_gateway(const KvOptions& options) {
  KvGatewaySettings settings{.listen = options.listen,
                             .nodes = options.nodes,
                             .threads = static_cast<std::size_t>(options.threads),
                             .password = TRY(read_password(options.password_file))};
  TRY(run_on_loop<bool>(
      [&](CommandLoop& command) { return serve_gateway(command, std::move(settings)); }));
  return ExitCode::done;
}

Result<void> validate_config(const KvOptions& options) {
  if (options.engine.empty()) {
    return fail(ErrorCode::bad_usage, "kv config needs --engine vllm, sglang or llamacpp");
  }
  if (options.nodes.size() > 1) {
    return fail(ErrorCode::bad_usage, "an engine is set up for one --node",
                "for many nodes, name the gateway's address");
  }
  bool any_of_shape = options.layers || options.kv_heads || options.head_dim;
  if (any_of_shape && !options.has_shape()) {
    return fail(ErrorCode::bad_usage,
                "a shape is --layers, --kv-heads and --head-dim, all above 0");
  }
  bool has_bytes = options.bytes_per_token.has_value();
  if (int(!options.model.empty()) + int(options.has_shape()) + int(has_bytes) > 1) {
    return fail(ErrorCode::bad_usage, "give one of --model, a shape, and --bytes-per-token");
  }
  return {};
}

class KvCommand : public CliCommand {
 public:
  explicit KvCommand(CLI::App& app) {
    auto option = [&](const char* name, auto& into, const char* type, const char* help) {
      return app.add_option(name, into, help)->type_name(type);
    };
    KvOptions& o = options_;
    one_of(app.add_option("ACTION", o.action, "config, stats or gateway")->required(),
           {"config", "stats", "gateway"});
    option("--engine", o.engine, "E", "vllm, sglang or llamacpp");
    option("--node", o.nodes, "ADDR",
           "a node; for the gateway as many as there are, each with its share: ADDR,weight=2")
        ->allow_extra_args(false);
    option("--model", o.model, "NAME", "a model whose shape is known, such as Llama-3.1-8B");
    option("--layers", o.layers, "N", "of a model that is not known");
    option("--kv-heads", o.kv_heads, "N", "the same: heads of keys and values");
    option("--head-dim", o.head_dim, "N", "the same: the length of one");
    option("--dtype", o.dtype, "T", "of the KV: bf16 (default), fp16, fp8, fp32");
    at_least(option("--bytes-per-token", o.bytes_per_token, "N", "instead of a shape"), 1);
    between(option("--tp", o.tensor_parallel, "N",
                   "over how many GPUs one server's heads are split (default 1)"),
            1, 1024);
    above_zero(option("--prefill", o.prefill_tokens_per_s, "N",
                      "the engine's prefill rate, in tokens per second"));
    option("--listen", o.listen, "ADDR", "where the gateway listens; port 0: any free one");
    between(option("--threads", o.threads, "N",
                   "of the gateway (default: half of the cores, 8 at most)"),
            1, 64);
    option("--password-file", o.password_file, "FILE",
           "the password of the nodes, and of the gateway too");
    add_flag(app, "--json", o.json,
             "print one JSON document (schema specgen.kv-config or specgen.kv-stats)");
  }

  Result<void> validate() override {
    if (options_.action == "config") return validate_config(options_);
    if (options_.action == "stats" && options_.nodes.size() != 1) {
      return fail(ErrorCode::bad_usage, "kv stats needs one --node");
    }
    if (options_.action == "gateway" && (options_.listen.empty() || options_.nodes.empty())) {
      return fail(ErrorCode::bad_usage, "kv gateway needs --listen and at least one --node");
    }
    return {};
  }

  Result<ExitCode> run(const CommandContext&) override {
    if (options_.action == "config") return configure(options_);
    if (options_.action == "stats") return print_stats(options_);
    return run_gateway(options_);
  }

 private:
  KvOptions options_;
};

}  // namespace

AddedCommand add_kv_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "kv",
      "settings, figures and the gateway of the KV cache\n\n"
      "  specgen kv config --engine E [--node ADDR] [--model NAME]   the engine's settings, and "
      "when "
      "it pays\n"
      "  specgen kv stats --node ADDR                                the figures of a node\n"
      "  specgen kv gateway --listen ADDR --node ADDR...             many nodes as one, on the "
      "serving host\n\n"
      "ADDR is HOST:PORT or unix:PATH. Nodes are started with specgen-node --kv SIZE --kv-listen "
      "ADDR.\n"
      "See docs/guide/kvcache.md.");
  return {app, std::make_unique<KvCommand>(*app)};
}

}  // namespace specgen
