#include "evaluate/cpu/cpu_executor_process.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/json.h"
#include "evaluate/cpu/call_mailbox.h"
#include "evaluate/cpu/cpu_layout.h"
#include "evaluate/cpu/shared_file.h"
#include "evaluate/sandbox/seccomp_filter.h"
#include "runtime/message_socket.h"
#include "runtime/stopwatch.h"
#include "runtime/thread_team.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace specgen {
namespace {

constexpr int kJudge = 3;  // the descriptor

CallMailbox* g_mailbox = nullptr;  // for the signal handler
ThreadTeam* g_team = nullptr;

// Every call starts with the same handling of denormals, whatever the last one set.
void reset_rounding() {
#if defined(__x86_64__)
  _mm_setcsr(0x1f80);
#endif
}

void on_fault(int signal, siginfo_t* info, void*) {
  g_mailbox->fault_address = reinterpret_cast<std::uint64_t>(info->si_addr);
  g_mailbox->fault_signal = signal;
  ::_exit(97);
}

void install_fault_handlers() {
  static std::array<char, 1 << 16> stack;  // its own: the normal stack may have overflowed
  stack_t alternate{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::sigaction(signal, &action, nullptr);
}

// The payload's address, between two guard pages.
Result<std::byte*> map_between_guards(const MappedBuffer& buffer, int fd) {
  const std::size_t page = page_size();
  void* area = ::mmap(nullptr, buffer.map_bytes + 2 * page, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) return fail_errno("mmap", errno);
  std::byte* middle = static_cast<std::byte*>(area) + page;
  int access = buffer.read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  if (buffer.map_bytes > 0 &&
      ::mmap(middle, buffer.map_bytes, access, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
             static_cast<off_t>(buffer.file_offset)) == MAP_FAILED) {
    return fail_errno("mmap", errno);
  }
  return middle + buffer.payload_offset;
}

// The arguments of the call for each set, except the thread number.
struct Prepared {
  std::vector<std::vector<std::uint64_t>> words;
  std::vector<double> reals;
  bool with_threads = true;
};

Result<Prepared> prepare(const CpuLayout& layout, std::span<const Fd> files,
                         boost::json::array& addresses) {
  Prepared prepared{.words = {}, .reals = layout.reals, .with_threads = layout.with_threads};
  for (const auto& set : layout.sets) {
    std::vector<std::uint64_t>& words = prepared.words.emplace_back();
    std::vector<std::uint64_t> trailing;
    boost::json::array mapped;
    for (std::size_t i = 0; i < set.size(); ++i) {
      if (set[i].file >= files.size()) return fail(ErrorCode::bad_message, "no such file");
      std::byte* payload = TRY(map_between_guards(set[i], files[set[i].file].get()));
      auto address = reinterpret_cast<std::uint64_t>(payload);
      bool trails = i + layout.trailing_buffers >= set.size();
      (trails ? trailing : words).push_back(address);
      mapped.push_back(address - set[i].payload_offset);
    }
    for (std::int64_t integer : layout.integers)
      words.push_back(static_cast<std::uint64_t>(integer));
    words.insert(words.end(), trailing.begin(), trailing.end());
    if (words.size() + 2 > kMaxWords || layout.reals.size() > kMaxReals) {
      return fail(ErrorCode::bad_message, "too many parameters");
    }
    addresses.push_back(std::move(mapped));
  }
  return prepared;
}

void call_on_all_threads(void* entry, const Prepared& prepared, std::size_t set) {
  const std::vector<std::uint64_t>& words = prepared.words[set];
  g_team->run([&](int number) {
    std::array<std::uint64_t, kMaxWords> mine;
    std::ranges::copy(words, mine.begin());
    std::size_t count = words.size();
    if (prepared.with_threads) {
      mine[count++] = static_cast<std::uint64_t>(number);
      mine[count++] = static_cast<std::uint64_t>(g_team->size());
    }
    reset_rounding();
    call_entry(entry, std::span(mine).first(count), prepared.reals);
  });
}

[[noreturn]] void serve_calls(void* entry, const Prepared& prepared, CallMailbox& mailbox) {
  std::uint32_t last = 0;
  while (true) {
    std::uint32_t rung = mailbox.rung.load();
    if (rung == last) {
      futex_wait(mailbox.rung, rung);
      continue;
    }
    last = rung;
    g_team->wake();
    mailbox.ready.store(rung);
    while (mailbox.go.load() != rung) spin_pause();
    if (mailbox.set == CallMailbox::kEnd) ::_exit(0);
    call_on_all_threads(entry, prepared, mailbox.set);
    mailbox.done.store(rung);
    g_team->rest();
  }
}

// What one executor runs.
struct Loaded {
  void* entry = nullptr;
  bool strict = true;
  FilterProgram filter = {};  // if strict; made before the candidate's code is mapped
  std::vector<int> cores = {};
};

// Calls a reference, whose last two parameters are the range [first, last) of elements to compute.
void compute_ranges(void* entry, const Prepared& prepared, const Json& request) {
  const Json* ranges = member_at(request, "ranges");
  for (const Json& range : ranges->as_array()) {
    std::vector<std::uint64_t> words = prepared.words.front();
    words.push_back(static_cast<std::uint64_t>(range.as_array().at(0).to_number<std::int64_t>()));
    words.push_back(static_cast<std::uint64_t>(range.as_array().at(1).to_number<std::int64_t>()));
    call_entry(entry, words, prepared.reals);
  }
}

// The child of a case. Ends the process.
[[noreturn]] void run_case(const Loaded& loaded, const Json& request, std::span<const Fd> files) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_DUMPABLE, 0);  // not before loading, which reads /proc/self/fd
  auto refuse = [](const Error& error) {
    (void)send_message(kJudge, compact_json({{"problem", error.context}}));
    ::_exit(98);
  };
  auto layout = cpu_layout_from_json(request.at("layout"));
  if (!layout) refuse(layout.error());
  void* mailbox_page = ::mmap(nullptr, sizeof(CallMailbox), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_POPULATE, files.front().get(), 0);
  if (mailbox_page == MAP_FAILED) refuse(fail_errno("mmap", errno).error());
  g_mailbox = static_cast<CallMailbox*>(mailbox_page);
  boost::json::array addresses;
  auto prepared = prepare(*layout, files.subspan(1), addresses);
  if (!prepared) refuse(prepared.error());
  int threads = std::max<int>(1, static_cast<int>(loaded.cores.size()));
  ThreadTeam team(loaded.strict ? threads : 1, loaded.cores);
  g_team = &team;
  install_fault_handlers();
  Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  std::array<int, 1> descriptors{self.get()};
  Json answer{{"addresses", std::move(addresses)}};
  if (!self || !send_message(kJudge, compact_json(answer), descriptors)) ::_exit(98);
  if (member_at(request, "ranges")) {
    compute_ranges(loaded.entry, *prepared, request);
    ::_exit(0);
  }
  self.reset();
  if (loaded.strict && !apply_filter(loaded.filter, FilteredThreads::all_threads)) ::_exit(98);
  serve_calls(loaded.entry, *prepared, *g_mailbox);
}

Result<Loaded> load(const Json& request, std::span<const Fd> files) {
  Loaded loaded;
  loaded.strict = flag_at(request, "strict");
  if (loaded.strict) loaded.filter = TRY(computing_filter());
  if (const Json* cores = member_at(request, "cores"); cores && cores->is_array()) {
    for (const Json& core : cores->get_array()) {
      if (core.is_int64()) loaded.cores.push_back(static_cast<int>(core.get_int64()));
    }
  }
  if (files.empty()) return fail(ErrorCode::bad_message, "there is no shared object");
  std::string path = "/proc/self/fd/" + std::to_string(files.front().get());
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return fail(ErrorCode::bad_message, ::dlerror());
  loaded.entry = ::dlsym(library, text_at(request, "entry").c_str());
  if (!loaded.entry) return fail(ErrorCode::bad_message, ::dlerror());
  return loaded;
}

Result<void> serve(MessageReader& judge) {
  Loaded loaded;
  TRY(send_message(kJudge, compact_json({{"ready", true}})));
  while (true) {
    auto message = TRY(judge.receive());
    if (!message) return {};
    Json request = TRY(parse_json(message->body));
    if (text_at(request, "do") == "load") {
      auto done = load(request, message->descriptors);
      if (done) loaded = *done;
      Json answer{{"problem", done ? "" : done.error().context}};
      TRY(send_message(kJudge, compact_json(answer)));
      continue;
    }
    pid_t child = ::fork();
    if (child < 0) return fail_errno("fork", errno);
    if (child == 0) run_case(loaded, request, message->descriptors);
    message->descriptors.clear();
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    Json ended{{"ended", true},
               {"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0},
               {"code", WIFEXITED(status) ? WEXITSTATUS(status) : -1}};
    TRY(send_message(kJudge, compact_json(ended)));
  }
}

}  // namespace

// What a candidate may call besides libm. The loader finds it because the program exports it.
extern "C" __attribute__((visibility("default"), used)) void specgen_barrier() {
  g_team->barrier();
}

int run_internal_cpu_executor(std::span<const std::string>) {
  rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  MessageReader judge(kJudge);
  return serve(judge) ? 0 : 98;
}

}  // namespace specgen
