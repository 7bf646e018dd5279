#include "cli/kv.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "kvcache/engine_settings.h"
#include "kvcache/link_speed.h"
#include "kvcache/model_shape.h"
#include "kvcache/node_client.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr double kExampleTokens = 16384;  // a prefix whose times are shown

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

Result<double> token_bytes_of(const ConfigureKv& command) {
  if (command.bytes_per_token > 0) return command.bytes_per_token;
  ModelShape shape;
  if (!command.model.empty()) {
    shape = TRY(find_model(command.model));
  } else if (command.layers > 0) {
    shape.layers = command.layers;
    shape.kv_heads = command.kv_heads;
    shape.head_dim = command.head_dim;
  } else {
    return 0.0;
  }
  shape.element_bytes = TRY(element_bytes(command.dtype));
  return bytes_per_token(shape);
}

void measure_node(const ConfigureKv& command, const KvAddress& address, Advice& advice) {
  auto speed = [&]() -> Result<LinkSpeed> {
    NodeClient client = TRY(NodeClient::connect(address, 3s));
    std::string password = TRY(kv_password(command.password_file));
    if (!password.empty()) TRY(client.authenticate(password));
    return measure_link(client);
  }();
  if (!speed) {
    advice.no_measurement = speed.error().summary();
  } else if (!speed->get_bytes_per_s) {
    advice.no_measurement = "the node kept none of the values that were to be measured";
  } else {
    advice.links.push_back({"to " + address.text(), *speed->get_bytes_per_s, true});
  }
}

Result<Advice> advise(const ConfigureKv& command) {
  Advice advice;
  advice.engine = TRY(engine_named(command.engine));
  advice.node = command.node;
  advice.model = command.model;
  advice.token_bytes = TRY(token_bytes_of(command));
  advice.prefill = command.prefill_tokens_per_s;
  EngineQuestion question;
  question.engine = advice.engine;
  question.node = {.host = "NODE", .port = 6380, .path = {}};
  if (!command.node.empty()) question.node = TRY(parse_kv_address(command.node));
  if (!command.model.empty()) question.model = command.model;
  question.password = !command.password_file.empty();
  // Without a model: LMCache's own default, which is right for none and works with all.
  if (advice.token_bytes > 0)
    question.chunk = chunk_tokens(advice.token_bytes, command.tensor_parallel);
  advice.chunk = question.chunk;
  advice.value_bytes = advice.token_bytes / command.tensor_parallel * advice.chunk;
  advice.settings = engine_settings(question);
  if (advice.engine == Engine::llamacpp) return advice;
  if (!command.node.empty()) measure_node(command, question.node, advice);
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

}  // namespace

Result<std::string> kv_password(const std::string& file) {
  if (file.empty()) return std::string();
  std::string text = TRY(read_file(file, KiB(4)));
  std::string password(trim(text));
  if (password.empty())
    return fail(ErrorCode::bad_usage, fmt::format("--password-file: {} is empty", file));
  return password;
}

Result<ExitCode> configure_kv(const ConfigureKv& command) {
  Advice advice = TRY(advise(command));
  TRY(print_output(command.json ? advice_json(advice) : advice_text(advice)));
  return ExitCode::done;
}

Result<ExitCode> show_kv_stats(const ShowKvStats& command) {
  NodeClient client = TRY(NodeClient::connect(TRY(parse_kv_address(command.node)), 5s));
  std::string password = TRY(kv_password(command.password_file));
  if (!password.empty()) TRY(client.authenticate(password));
  // Lines of a name and a number, as Prometheus reads them.
  std::string answer = TRY(client.ask({"KV.STATS"}));
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
                           {"node", command.node},
                           {"figures", std::move(figures)}};
  TRY(print_output(command.json ? pretty_json(json) : text));
  return ExitCode::done;
}

}  // namespace specgen
