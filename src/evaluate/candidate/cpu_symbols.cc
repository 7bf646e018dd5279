#include "evaluate/candidate/cpu_symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "evaluate/candidate/directive_text.h"
#include "evaluate/candidate/elf_file.h"

namespace specgen {
namespace {

// Each also as float (sinf) and as long double (sinl).
constexpr std::array<std::string_view, 67> kMath{
    "acos",  "acosh",     "asin",      "asinh",      "atan",   "atan2",     "atanh",
    "cbrt",  "ceil",      "copysign",  "cos",        "cosh",   "erf",       "erfc",
    "exp",   "exp10",     "exp2",      "expm1",      "fabs",   "fdim",      "floor",
    "fma",   "fmax",      "fmin",      "fmod",       "frexp",  "hypot",     "ilogb",
    "j0",    "j1",        "jn",        "ldexp",      "llrint", "llround",   "log",
    "log10", "log1p",     "log2",      "logb",       "lrint",  "lround",    "modf",
    "nan",   "nearbyint", "nextafter", "nexttoward", "pow",    "remainder", "remquo",
    "rint",  "round",     "roundeven", "scalbln",    "scalbn", "sin",       "sincos",
    "sinh",  "sqrt",      "tan",       "tanh",       "tgamma", "trunc",     "y0",
    "y1",    "yn",        "lgamma_r",  "significand"};

constexpr std::array<std::string_view, 17> kOthers{"memcpy",
                                                   "memmove",
                                                   "memset",
                                                   "memcmp",
                                                   "__memcpy_chk",
                                                   "__memmove_chk",
                                                   "__memset_chk",
                                                   "specgen_barrier",
                                                   "__stack_chk_fail",
                                                   "_GLOBAL_OFFSET_TABLE_",
                                                   "__cxa_finalize",
                                                   "__gmon_start__",
                                                   "_ITM_deregisterTMCloneTable",
                                                   "_ITM_registerTMCloneTable",
                                                   "__fpclassify",
                                                   "__fpclassifyf",
                                                   "__stack_chk_guard"};

bool is_math(std::string_view name) {
  auto listed = [](std::string_view base) { return std::ranges::find(kMath, base) != kMath.end(); };
  if (listed(name)) return true;
  if (name.starts_with("__") &&
      name.ends_with("_finite")) {  // called by -ffast-math code with an old glibc
    return is_math(name.substr(2, name.size() - 2 - std::string_view("_finite").size()));
  }
  bool suffix = name.ends_with('f') || name.ends_with('l');
  return suffix && listed(name.substr(0, name.size() - 1));
}

// libmvec: _ZGVdN8v_expf, _ZGVnN2v_sin.
bool is_vector_math(std::string_view name) {
  if (!name.starts_with("_ZGV")) return false;
  std::size_t end = name.find('_', 4);
  return end != std::string_view::npos && is_math(name.substr(end + 1));
}

struct Lesson {
  std::string_view text;                 // {} is the name
  std::vector<std::string_view> whole;   // names
  std::vector<std::string_view> begins;  // of names, mangled or not
};
// The most likely cause of the others first.
const std::vector<Lesson> kLessons{
    {"it starts threads ({}): the harness calls it on tid 0..nthreads-1",
     {"pthread_create", "clone", "fork", "vfork", "thrd_create", "GOMP_parallel"},
     {"_ZNSt6thread", "_ZNSt7jthread", "GOMP_", "omp_", "__kmpc", "pthread_", "thrd_"}},
    {"it allocates memory ({}): use // specgen:scratch",
     {"malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "memalign",
      "_mm_malloc", "mmap", "munmap", "mremap", "sbrk", "brk", "valloc", "alloca"},
     {"_Znw", "_Zna", "_ZdlPv", "_ZdaPv", "_ZNSt15__new_alloc", "_ZNSt12__cxx11basic_string",
      "_ZNSt7__cxx1112basic_string"}},
    {"it keeps state between calls ({}): everything it needs comes with the call",
     {"__tls_get_addr", "__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort",
      "__cxa_atexit", "__cxa_thread_atexit", "atexit", "__dso_handle"},
     {}},
    {"it prints or reads ({}): a candidate cannot",
     {"printf", "puts",   "putchar",      "fprintf",       "fputs",    "fwrite",  "fread",
      "fopen",  "open",   "read",         "write",         "openat",   "close",   "ioctl",
      "stdout", "stderr", "__printf_chk", "__fprintf_chk", "snprintf", "sprintf", "perror"},
     {"_ZSt4cout", "_ZSt4cerr", "_ZNSo", "_ZSt16__ostream", "_ZNSt8ios_base", "_ZStls"}},
    {"it reads the time ({}): the harness measures it",
     {"clock", "time", "nanosleep", "usleep", "sleep", "sched_yield"},
     {"clock_", "gettimeof", "_ZNSt6chrono"}},
    {"it calls the system ({}): a candidate only computes",
     {"syscall", "dlopen", "dlsym", "system", "execve", "kill", "raise", "signal", "sigaction",
      "ptrace", "mprotect", "prctl", "getpid", "getauxval", "sysconf"},
     {"__libc_", "exec", "sched_", "shm_", "sem_"}},
    {"it ends the program ({}): leave checks of that kind out",
     {"abort", "exit", "_exit", "quick_exit", "__assert_fail", "__assert", "_ZSt9terminatev"},
     {}},
    {"it throws ({}): candidates are compiled without exceptions",
     {"__gxx_personality_v0", "_Unwind_Resume"},
     {"__cxa_", "_ZSt17__throw", "_ZSt1", "_ZSt2", "_Unwind_"}}};

}  // namespace

bool cpu_symbol_allowed(std::string_view name) {
  return std::ranges::find(kOthers, name) != kOthers.end() || is_math(name) || is_vector_math(name);
}

SymbolLesson cpu_symbol_lesson(std::string_view name) {
  std::string shown = excerpt(demangled(name));
  for (std::size_t i = 0; i < kLessons.size(); ++i) {
    const Lesson& lesson = kLessons[i];
    bool begins =
        std::ranges::any_of(lesson.begins, [&](auto prefix) { return name.starts_with(prefix); });
    if (!begins && std::ranges::find(lesson.whole, name) == lesson.whole.end()) continue;
    return {static_cast<int>(i), fmt::format(fmt::runtime(lesson.text), shown)};
  }
  return {static_cast<int>(kLessons.size()),
          fmt::format("it calls '{}': only libm's functions, memcpy, memmove, memset, memcmp and "
                      "specgen_barrier are there",
                      shown)};
}

}  // namespace specgen
