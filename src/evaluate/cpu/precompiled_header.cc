#include "evaluate/cpu/precompiled_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/cache_folder.h"
#include "base/file.h"
#include "evaluate/candidate/source_text.h"
#include "evaluate/cpu/cpu_compile.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 3> kSlow{"cmath", "algorithm", "immintrin.h"};
constexpr Bytes kMaxSize = MiB(256);

// The C library's headers may change without the compiler.
std::string age_of_headers() {
  std::error_code error;
  auto changed = fs::last_write_time("/usr/include/features.h", error);
  return error ? "" : std::to_string(changed.time_since_epoch().count());
}

// The name between < and > if the next tokens are an #include on its own line.
std::optional<std::string> take_include(std::span<const SourceToken>& left) {
  if (left.size() < 5 || !left[0].is("#") || !left[1].is("include") || !left[2].is("<")) {
    return std::nullopt;
  }
  const int line = left[0].line;
  std::string header;
  for (std::size_t i = 3; i < left.size() && left[i].line == line; ++i) {
    if (!left[i].is(">")) {
      header += left[i].text;
      continue;
    }
    left = left.subspan(i + 1);
    if (!left.empty() && left[0].line == line) return std::nullopt;
    return header;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> slow_headers(std::string_view source) {
  SourceText text(source);
  std::span<const SourceToken> left = text.tokens();
  std::array<bool, kSlow.size()> named{};
  for (std::optional<std::string> header; (header = take_include(left));) {
    auto known = std::ranges::find(kSlow, *header);
    if (known != kSlow.end()) named[static_cast<std::size_t>(known - kSlow.begin())] = true;
  }
  std::vector<std::string> slow;
  for (std::size_t i = 0; i < kSlow.size(); ++i) {
    if (named[i]) slow.emplace_back(kSlow[i]);
  }
  return slow;
}

Task<std::optional<PrecompiledHeader>> precompile(JudgeContext& context, std::string text,
                                                  std::vector<std::string> flags) {
  auto cache = cache_folder("headers");
  if (!cache) co_return std::nullopt;
  std::string key = compile_identity(context.compiler, flags, age_of_headers() + text);
  PrecompiledHeader made{.folder = *cache / key, .header = *cache / key / "prelude.h"};
  std::error_code error;
  if (fs::exists(made.header, error)) co_return made;

  // g++ precompiles only files, not standard input.
  std::vector<std::string> argv{
      "sh", "-c",
      R"(h="${TMPDIR:-/tmp}/prelude.h"; cat > "$h" && "$@" "$h" -o "$h.gch" && cat "$h.gch")", "sh",
      find_program(context.compiler).string()};
  for (const char* flag : {"-x", "c++-header"}) argv.emplace_back(flag);
  argv.insert(argv.end(), flags.begin(), flags.end());
  Command command{.argv = std::move(argv),
                  .input = text,
                  .output_limit = kMaxSize,
                  .time_limit = std::chrono::seconds(60)};
  auto sandboxed = context.sandbox.wrap(std::move(command), {.memory = GiB(4), .processes = 32});
  if (!sandboxed) co_return std::nullopt;
  auto finished = co_await context.processes.run(sandboxed->command);
  if (!finished || !finished->exit.ok() || finished->output.empty()) co_return std::nullopt;

  // The header is written last: if it exists, the rest does. Another process may write the same
  // files.
  fs::create_directories(made.folder, error);
  if (!write_file_durably(made.folder / "prelude.h.gch", finished->output) ||
      !write_file_durably(made.header, text)) {
    co_return std::nullopt;
  }
  // The compiler runs in a sandbox, as another user.
  constexpr fs::perms kToRead = fs::perms::owner_read | fs::perms::owner_write |
                                fs::perms::group_read | fs::perms::others_read;
  fs::permissions(made.folder, fs::perms{0755}, error);
  fs::permissions(made.folder / "prelude.h.gch", kToRead, error);
  fs::permissions(made.header, kToRead, error);
  co_return made;
}

}  // namespace specgen
