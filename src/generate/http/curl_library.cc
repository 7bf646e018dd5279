#include "generate/http/curl_library.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdarg>
#include <filesystem>
#include <string>

#include "base/assert.h"
#include "base/file.h"

namespace specgen {
namespace {

constexpr unsigned kMinVersion = 0x075700;  // 7.87: CURLOPT_QUICK_EXIT

void* g_library = nullptr;

template <class Function>
Function find(const char* name) {
  SG_ASSERT(g_library, "a function of libcurl is called before load_curl()");
  void* found = ::dlsym(g_library, name);
  SG_ASSERT(found, "libcurl lacks a required function");
  return reinterpret_cast<Function>(found);
}

Result<void> start_curl() {
  std::string ours = program_folder().parent_path() / "lib" / "libcurl.so.4";
  std::error_code ignored;
  std::string name = std::filesystem::exists(ours, ignored) ? ours : "libcurl.so.4";
  g_library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  constexpr const char* kAdvice =
      "install libcurl 7.87 or newer (Debian: apt-get install libcurl4)";
  if (!g_library) return fail(ErrorCode::tool_missing, ::dlerror(), kAdvice);
  const curl_version_info_data* version = curl_version_info(CURLVERSION_NOW);
  if (version->version_num < kMinVersion) {
    return fail(ErrorCode::tool_missing, fmt::format("libcurl is {}", version->version), kAdvice);
  }
  CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) {
    return fail(ErrorCode::system_call, fmt::format("libcurl: {}", curl_easy_strerror(started)));
  }
  return {};
}

}  // namespace

Result<void> load_curl() {
  static const Result<void> kStarted = start_curl();
  return kStarted;
}

}  // namespace specgen

// Each forwards to the loaded library.
#define SG_CURL(result, name, parameters, arguments)                      \
  extern "C" result name parameters {                                     \
    static const auto kReal = specgen::find<result(*) parameters>(#name); \
    return kReal arguments;                                               \
  }
// An option's value is a long, a curl_off_t or a pointer: each is one machine word, passed the same way.
#define SG_CURL_OPTION(result, name, handle, option)                                  \
  extern "C" result name(handle* subject, option what, ...) {                         \
    static const auto kReal = specgen::find<result (*)(handle*, option, ...)>(#name); \
    va_list values;                                                                   \
    va_start(values, what);                                                           \
    void* value = va_arg(values, void*);                                              \
    va_end(values);                                                                   \
    return kReal(subject, what, value);                                               \
  }
static_assert(sizeof(long) == sizeof(void*) && sizeof(curl_off_t) == sizeof(void*));

#pragma clang diagnostic ignored "-Wvarargs"  // curl declares an enum before the ellipsis
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

SG_CURL(CURLcode, curl_global_init, (long flags), (flags))
SG_CURL(curl_version_info_data*, curl_version_info, (CURLversion age), (age))
SG_CURL(void, curl_free, (void* memory), (memory))

SG_CURL(CURL*, curl_easy_init, (), ())
SG_CURL(void, curl_easy_cleanup, (CURL * easy), (easy))
SG_CURL(CURLcode, curl_easy_pause, (CURL * easy, int bits), (easy, bits))
SG_CURL(const char*, curl_easy_strerror, (CURLcode code), (code))
SG_CURL_OPTION(CURLcode, curl_easy_setopt, CURL, CURLoption)
SG_CURL_OPTION(CURLcode, curl_easy_getinfo, CURL, CURLINFO)

SG_CURL(curl_slist*, curl_slist_append, (curl_slist * list, const char* line), (list, line))
SG_CURL(void, curl_slist_free_all, (curl_slist * list), (list))

SG_CURL(CURLM*, curl_multi_init, (), ())
SG_CURL(CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi))
SG_CURL(CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL* easy), (multi, easy))
SG_CURL(CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL* easy), (multi, easy))
SG_CURL(CURLMcode, curl_multi_socket_action,
        (CURLM * multi, curl_socket_t fd, int what, int* running), (multi, fd, what, running))
SG_CURL(CURLMsg*, curl_multi_info_read, (CURLM * multi, int* left), (multi, left))
SG_CURL_OPTION(CURLMcode, curl_multi_setopt, CURLM, CURLMoption)

SG_CURL(CURLU*, curl_url, (), ())
SG_CURL(void, curl_url_cleanup, (CURLU * url), (url))
SG_CURL(CURLUcode, curl_url_get, (CURLU * url, CURLUPart part, char** text, unsigned flags),
        (url, part, text, flags))
SG_CURL(CURLUcode, curl_url_set, (CURLU * url, CURLUPart part, const char* text, unsigned flags),
        (url, part, text, flags))
SG_CURL(const char*, curl_url_strerror, (CURLUcode code), (code))
