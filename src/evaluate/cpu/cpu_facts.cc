#include "evaluate/cpu/cpu_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "evaluate/cpu/shared_file.h"
#include "evaluate/host/tool_run.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxRemarks = 20;
constexpr std::size_t kMaxText = 120;

// Importance of a remark; of two on the same line the more important one is kept.
enum class Weight : std::uint8_t { aside, bare_failure, failure, part, loop };

struct Ranked {
  VectorRemark remark;
  Weight weight = Weight::aside;
};

struct Message {
  int line = 0;
  std::string_view kind;  // "optimized", "missed", "remark"
  std::string_view text;
};

// "candidate.cc:12:5: missed: couldn't vectorize loop"
std::optional<Message> message_of(std::string_view row, std::string_view file_name) {
  if (!row.starts_with(file_name)) return std::nullopt;
  row.remove_prefix(file_name.size());
  Message message;
  for (int* number : {&message.line, static_cast<int*>(nullptr)}) {
    if (!row.starts_with(':')) return std::nullopt;
    row.remove_prefix(1);
    int value = 0;
    auto [end, trouble] = std::from_chars(row.data(), row.data() + row.size(), value);
    if (trouble != std::errc() || value < 0) return std::nullopt;
    if (number) *number = value;
    row.remove_prefix(static_cast<std::size_t>(end - row.data()));
  }
  if (!row.starts_with(": ") || message.line < 1) return std::nullopt;
  row.remove_prefix(2);
  std::size_t colon = row.find(": ");
  if (colon == row.npos) return std::nullopt;
  message.kind = row.substr(0, colon);
  message.text = trim(row.substr(colon + 2));
  return message;
}

std::string shortened(std::string_view text) {
  std::string kept = printable(text);
  if (kept.size() <= kMaxText) return kept;
  std::size_t end = kMaxText;
  while (end > 0 && (static_cast<unsigned char>(kept[end]) & 0xc0) == 0x80)
    --end;  // complete UTF-8 characters
  return kept.substr(0, end) + "...";
}

std::optional<Ranked> from_gcc(const Message& message) {
  std::string_view text = message.text;
  if (message.kind == "optimized") {
    if (!text.contains("vectorized using")) return std::nullopt;  // "loop versioned for ..."
    return Ranked{{message.line, true, shortened(text)},
                  text.starts_with("loop") ? Weight::loop : Weight::part};
  }
  if (message.kind != "missed") return std::nullopt;
  if (text == "couldn't vectorize loop") {
    return Ranked{{message.line, false, shortened(text)}, Weight::bare_failure};
  }
  if (!text.starts_with("not vectorized")) return std::nullopt;
  return Ranked{{message.line, false, shortened(text)}, Weight::aside};
}

std::optional<Ranked> from_clang(const Message& message) {
  if (message.kind != "remark") return std::nullopt;
  std::size_t flag = message.text.rfind(" [-Rpass");
  if (flag == message.text.npos) return std::nullopt;
  std::string_view text = trim(message.text.substr(0, flag));
  std::string_view pass = message.text.substr(flag);
  bool of_loop = pass.contains("=loop-vectorize");
  if (!of_loop && !pass.contains("=slp-vectorizer")) return std::nullopt;
  bool vectorized = pass.starts_with(" [-Rpass=") && text.contains("ectorized");
  Weight weight = vectorized                      ? (of_loop ? Weight::loop : Weight::part)
                  : !of_loop                      ? Weight::aside
                  : text == "loop not vectorized" ? Weight::bare_failure
                                                  : Weight::failure;
  return Ranked{{message.line, vectorized, shortened(text)}, weight};
}

// g++ gives the reason in the row after the failure, at the statement it is about, which may be in
// another line or in a header.
void add_reason(Ranked& failure, std::string_view next_row, std::string_view file_name) {
  std::size_t begin = next_row.find(": missed: ");
  if (begin == next_row.npos) return;
  std::string_view reason = trim(next_row.substr(begin + 10));
  if (!reason.starts_with("not vectorized")) return;
  auto place = message_of(next_row, file_name);
  failure.remark.text = shortened(reason);
  if (place && place->line != failure.remark.line) {
    failure.remark.text += fmt::format(" (line {})", place->line);
  }
  failure.weight = Weight::failure;
}

}  // namespace

std::vector<VectorRemark> vector_remarks(std::string_view compiler_log,
                                         std::string_view file_name) {
  std::map<int, Ranked> by_line;
  std::vector<std::string_view> rows = split(compiler_log, '\n');
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto message = message_of(rows[i], file_name);
    if (!message) continue;
    std::optional<Ranked> found =
        message->kind == "remark" ? from_clang(*message) : from_gcc(*message);
    if (!found) continue;
    if (message->kind == "missed" && found->weight == Weight::bare_failure && i + 1 < rows.size()) {
      add_reason(*found, rows[i + 1], file_name);
    }
    auto [known, added] = by_line.try_emplace(message->line, *found);
    if (!added && known->second.weight < found->weight) known->second = std::move(*found);
  }
  std::vector<Ranked> kept;
  for (auto& [line, ranked] : by_line) kept.push_back(std::move(ranked));
  if (kept.size() > kMaxRemarks) {
    std::ranges::sort(kept, {}, [](const Ranked& ranked) {
      return std::pair(ranked.weight == Weight::aside, ranked.remark.line);
    });
    kept.resize(kMaxRemarks);
    std::ranges::sort(kept, {}, [](const Ranked& ranked) { return ranked.remark.line; });
  }
  std::vector<VectorRemark> remarks;
  for (Ranked& ranked : kept) remarks.push_back(std::move(ranked.remark));
  return remarks;
}

Task<Result<std::string>> disassemble(Processes& processes, std::string binary) {
  if (find_program("objdump").empty()) {
    co_return fail(ErrorCode::tool_missing, "objdump", "install the package binutils");
  }
  SharedFile object = CO_TRY(SharedFile::make("object", binary.size()));
  std::ranges::copy(std::as_bytes(std::span(binary)), object.bytes().begin());
  ToolRun run = co_await run_tool(
      processes, {.argv = {"objdump", "-d", "-C", "--no-show-raw-insn", "/proc/self/fd/3"},
                  .descriptors = {object.fd()},
                  .output_limit = MiB(32),
                  .time_limit = std::chrono::seconds(20)});
  if (!run.ok) co_return fail(ErrorCode::bad_message, "objdump: " + run.problem);
  co_return std::move(run.output);
}

Json cpu_facts_json(const std::vector<VectorRemark>& remarks,
                    const std::optional<InstructionMix>& hot_loop) {
  boost::json::array vectorization;
  for (const VectorRemark& remark : remarks) {
    vectorization.push_back(boost::json::object{
        {"line", remark.line}, {"vectorized", remark.vectorized}, {"text", remark.text}});
  }
  boost::json::object facts{{"vectorization", std::move(vectorization)}, {"hot_loop", nullptr}};
  if (hot_loop) {
    facts["hot_loop"] = boost::json::object{{"where", hot_loop->where},
                                            {"instructions", hot_loop->instructions},
                                            {"vector_float", hot_loop->vector_float},
                                            {"scalar_float", hot_loop->scalar_float},
                                            {"fused_multiply_add", hot_loop->fused_multiply_add},
                                            {"loads", hot_loop->loads},
                                            {"stores", hot_loop->stores},
                                            {"branches", hot_loop->branches},
                                            {"calls", hot_loop->calls},
                                            {"widest", hot_loop->widest}};
  }
  return facts;
}

}  // namespace specgen
