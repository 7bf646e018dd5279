#include "kvcache/kv_memory_provider.h"

#include <charconv>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "runtime/worker_thread.h"

namespace specgen {
namespace {

// Free memory that a host keeps in addition to what a job needs.
constexpr Bytes kMargin = MiB(256);

constexpr std::string_view kGpu = "cuda:";

// Where a hold returns its memory. A hold in an unread post of the loop can outlive the provider.
struct Account {
  KvStore* store;
};

class MemoryHold final : public MemoryProvider::Hold {
 public:
  explicit MemoryHold(std::shared_ptr<Account> account) : account_(std::move(account)) {}
  ~MemoryHold() override {
    if (!account_->store) return;
    if (host.count > 0) account_->store->restore(host);
    if (gpu && on_gpu.count > 0) account_->store->restore_device(*gpu, on_gpu);
    if (gpu && is_quiet) account_->store->quiet(*gpu, false);
  }

  Bytes host;
  std::optional<int> gpu;
  Bytes on_gpu;
  bool is_quiet = false;

 private:
  std::shared_ptr<Account> account_;
};

// Has a thread of its own, as reclaiming takes milliseconds.
class StoreMemoryProvider final : public MemoryProvider {
 public:
  StoreMemoryProvider(Loop& loop, RealDriver& driver, KvReclaim& reclaim, Bytes job_memory)
      : reclaim_(reclaim),
        account_(std::make_shared<Account>(&reclaim.store())),
        job_memory_(job_memory),
        thread_(loop, driver) {}
  ~StoreMemoryProvider() override { account_->store = nullptr; }

  Task<std::unique_ptr<Hold>> reserve(std::string device) override {
    // If the job is cancelled meanwhile, the result is dropped and the memory returns to the store.
    co_return co_await thread_.run(
        [&reclaim = reclaim_, account = account_, wanted = job_memory_, gpu = gpu_number(device)] {
          auto hold = std::make_unique<MemoryHold>(account);
          auto meminfo = read_file("/proc/meminfo");
          std::uint64_t free = meminfo ? available_in(*meminfo).count : 0;
          std::uint64_t needed = wanted.count + kMargin.count;
          if (needed > free) hold->host = reclaim.reclaim({needed - free});
          hold->gpu = gpu;
          if (gpu) hold->on_gpu = reclaim.reclaim_device(*gpu, wanted);
          return std::unique_ptr<Hold>(std::move(hold));
        });
  }

  Task<std::unique_ptr<Hold>> pause_copies(std::string device) override {
    co_return co_await thread_.run(
        [&store = reclaim_.store(), account = account_, gpu = gpu_number(device)] {
          auto hold = std::make_unique<MemoryHold>(account);
          hold->gpu = gpu;
          hold->is_quiet = true;
          if (gpu) store.quiet(*gpu, true);
          return std::unique_ptr<Hold>(std::move(hold));
        });
  }

 private:
  KvReclaim& reclaim_;
  const std::shared_ptr<Account> account_;  // used on the loop's thread
  const Bytes job_memory_;
  WorkerThread thread_;
};

}  // namespace

std::unique_ptr<MemoryProvider> make_memory_provider(Loop& loop, RealDriver& driver,
                                                     KvReclaim& reclaim, Bytes job_memory) {
  return std::make_unique<StoreMemoryProvider>(loop, driver, reclaim, job_memory);
}

std::optional<int> gpu_number(std::string_view device) {
  if (!device.starts_with(kGpu)) return std::nullopt;
  int number = 0;
  std::string_view digits = device.substr(kGpu.size());
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

Bytes available_in(std::string_view meminfo) {
  constexpr std::string_view kName = "MemAvailable:";
  std::size_t at = meminfo.find(kName);
  if (at == meminfo.npos) return {};
  std::string_view text = trim(first_line(meminfo.substr(at + kName.size())));
  std::uint64_t kibibytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), kibibytes);
  return KiB(kibibytes);
}

}  // namespace specgen
