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
constexpr Bytes kLargest = MiB(256);

// Of the C library's headers, which may change while the compiler stays.
std::string age_of_headers() {
  std::error_code trouble;
  auto changed = fs::last_write_time("/usr/include/features.h", trouble);
  return trouble ? "" : std::to_string(changed.time_since_epoch().count());
}

// What stands between < and > if the next tokens are an #include on a line of its own.
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
  auto kept = cache_folder("headers");
  if (!kept) co_return std::nullopt;
  std::string key = compile_identity(context.compiler, flags, age_of_headers() + text);
  PrecompiledHeader made{.folder = *kept / key, .header = *kept / key / "prelude.h"};
  std::error_code trouble;
  if (fs::exists(made.header, trouble)) co_return made;

  // A header must be a file to be precompiled.
  std::vector<std::string> argv{
      "sh", "-c",
      R"(h="${TMPDIR:-/tmp}/prelude.h"; cat > "$h" && "$@" "$h" -o "$h.gch" && cat "$h.gch")", "sh",
      find_program(context.compiler).string()};
  for (const char* flag : {"-x", "c++-header"}) argv.emplace_back(flag);
  argv.insert(argv.end(), flags.begin(), flags.end());
  Command command{.argv = std::move(argv),
                  .input = text,
                  .output_limit = kLargest,
                  .time_limit = std::chrono::seconds(60)};
  auto sandboxed = context.sandbox.wrap(std::move(command), {.memory = GiB(4), .processes = 32});
  if (!sandboxed) co_return std::nullopt;
  auto finished = co_await context.processes.run(sandboxed->command);
  if (!finished || !finished->exit.ok() || finished->output.empty()) co_return std::nullopt;

  // The header comes last: where it is, all is. Another process may make the same meanwhile.
  fs::create_directories(made.folder, trouble);
  if (!write_file_durably(made.folder / "prelude.h.gch", finished->output) ||
      !write_file_durably(made.header, text)) {
    co_return std::nullopt;
  }
  // A compiler's sandbox is another user.
  constexpr fs::perms kToRead = fs::perms::owner_read | fs::perms::owner_write |
                                fs::perms::group_read | fs::perms::others_read;
  fs::permissions(made.folder, fs::perms{0755}, trouble);
  fs::permissions(made.folder / "prelude.h.gch", kToRead, trouble);
  fs::permissions(made.header, kToRead, trouble);
  co_return made;
}

}  // namespace specgen
