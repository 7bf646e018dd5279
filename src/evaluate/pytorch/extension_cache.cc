#include "evaluate/pytorch/extension_cache.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cerrno>

#include "base/hash.h"
#include "base/json.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFlags = 16;
constexpr std::size_t kMaxHeaders = 6;  // a third of a GiB each
constexpr std::int64_t kMaxHeaderBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMaxLibraryBytes = std::int64_t{64} << 20;

constexpr auto kPlainFlags = std::to_array<std::string_view>({"-O0",
                                                              "-O1",
                                                              "-O2",
                                                              "-O3",
                                                              "-Ofast",
                                                              "-std=c++14",
                                                              "-std=c++17",
                                                              "-std=c++20",
                                                              "-std=c++23",
                                                              "-std=gnu++14",
                                                              "-std=gnu++17",
                                                              "-std=gnu++20",
                                                              "-std=gnu++23",
                                                              "-march=native",
                                                              "-mtune=native",
                                                              "-mavx2",
                                                              "-mavx512f",
                                                              "-mfma",
                                                              "-fopenmp",
                                                              "-ffast-math",
                                                              "-funroll-loops",
                                                              "-fPIC",
                                                              "-w",
                                                              "-Wall",
                                                              "-g0",
                                                              "-fno-math-errno"});

bool is_key(std::string_view key) {
  return key.size() == 32 && std::ranges::all_of(key, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Atomically: other processes may be reading the folder.
Result<void> copy_file_into(const Fd& from, const fs::path& to, std::int64_t most) {
  struct stat state{};
  if (::fstat(from.get(), &state) != 0) return fail_errno("fstat", errno);
  if (!S_ISREG(state.st_mode) || state.st_size > most) {
    return fail(ErrorCode::file_too_large, to.filename().string());
  }
  fs::path part = to;
  part += ".part" + std::to_string(::getpid());
  Fd into(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!into) return fail_errno(part.string(), errno);
  off_t at = 0;
  while (at < state.st_size) {
    ssize_t n =
        ::sendfile(into.get(), from.get(), &at, static_cast<std::size_t>(state.st_size - at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      int error = n < 0 ? errno : EIO;
      ::unlink(part.c_str());
      return fail_errno(to.string(), error);
    }
  }
  if (::rename(part.c_str(), to.c_str()) != 0) return fail_errno(to.string(), errno);
  return {};
}

std::size_t count_folders(const fs::path& folder) {
  std::error_code error;
  auto each = fs::directory_iterator(folder, error);
  return error ? 0 : static_cast<std::size_t>(std::distance(fs::begin(each), fs::end(each)));
}

}  // namespace

bool is_plain_flag(std::string_view flag) {
  return std::ranges::find(kPlainFlags, flag) != kPlainFlags.end();
}

ExtensionCache::ExtensionCache(const PythonHost& host, std::string_view candidate_source)
    : host_(host) {
  if (host.cache.empty()) return;
  headers_ = host.cache / "headers";
  kept_ = host.cache / "libraries" / sha256_hex(candidate_source).substr(0, 32);
}

std::vector<fs::path> ExtensionCache::folders() const {
  std::vector<fs::path> made;
  if (host_.cache.empty()) return made;
  for (const fs::path& folder : {headers_, kept_}) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (!error) made.push_back(folder);
  }
  return made;
}

Task<Result<void>> ExtensionCache::make_header(std::string_view wanted) {
  if (host_.cache.empty()) co_return Result<void>();
  Json request = CO_TRY(parse_json(wanted));
  const Json* extra = member_at(request, "extra");
  if (extra == nullptr || !extra->is_array() || extra->get_array().size() > kMaxFlags) {
    co_return fail(ErrorCode::bad_message, "a request for a precompiled header needs flags");
  }
  for (const Json& flag : extra->get_array()) {
    if (!flag.is_string() || !is_plain_flag(std::string_view(flag.get_string()))) {
      co_return fail(ErrorCode::bad_message, "this flag is not allowed for a precompiled header");
    }
  }
  if (count_folders(headers_) >= kMaxHeaders) {
    co_return fail(ErrorCode::file_too_large, "the limit of precompiled headers is reached");
  }
  bool cuda = flag_at(request, "cuda");
  PythonHost host = host_;
  host.device = "cpu";  // compiling needs no GPU
  host.limits.file_size = {static_cast<std::uint64_t>(kMaxHeaderBytes)};
  host.limits.tmp_size = GiB(2);
  auto process = CO_TRY(PythonProcess::start(host, PythonProgram::model_new, {}));
  boost::json::object question{{"do", "header"}, {"extra", *extra}, {"cuda", cuda}};
  auto answer = CO_TRY(co_await process->ask(compact_json(question), {}, std::chrono::minutes(3)));
  if (answer.ended != Verdict::ok) co_return fail(ErrorCode::harness_failed, answer.how);
  Json json = CO_TRY(parse_json(answer.message.body));
  std::string key = text_at(json, "key");
  if (!is_key(key) || answer.message.descriptors.size() != 1) {
    co_return fail(ErrorCode::harness_failed, text_at(json, "text"));
  }
  fs::path folder = headers_ / key;
  std::error_code error;
  fs::create_directories(folder / "torch", error);
  // The headers that the precompiled one replaces are empty files, as in extension.py.
  for (std::string_view name : {"torch/extension.h", "torch/torch.h", "torch/all.h"}) {
    CO_TRY(write_file_durably(folder / name, "#pragma once\n"));
  }
  CO_TRY(write_file_durably(folder / "specgen_torch.h",
                            "#error the precompiled header is not used\n"));
  co_return copy_file_into(answer.message.descriptors[0], folder / "specgen_torch.h.gch",
                           kMaxHeaderBytes);
}

Result<void> ExtensionCache::keep(const std::string& key, const Fd& library) {
  if (host_.cache.empty()) return {};
  if (!is_key(key)) return fail(ErrorCode::bad_message, "the library has no valid key");
  return copy_file_into(library, kept_ / (key + ".so"), kMaxLibraryBytes);
}

}  // namespace specgen
