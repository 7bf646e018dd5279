#include "kvcache/kv_lender.h"

#include <charconv>

#include "base/file.h"
#include "base/text.h"
#include "runtime/worker_thread.h"

namespace specgen {
namespace {

// A host that has less than this free is short of memory, whatever a job needs.
constexpr Bytes kMargin = MiB(256);

// What a hold gives back to. An answer that nobody waited for can outlive the lender, unread in the loop's mail.
struct Account {
  KvReclaim* reclaim;
};

class Lent final : public MemoryLender::Hold {
 public:
  Lent(std::shared_ptr<Account> account, Bytes bytes)
      : account_(std::move(account)), bytes_(bytes) {}
  ~Lent() override {
    if (account_->reclaim) account_->reclaim->restore(bytes_);
  }

 private:
  std::shared_ptr<Account> account_;
  Bytes bytes_;
};

class StoreLender final : public MemoryLender {
 public:
  StoreLender(Loop& loop, RealDriver& driver, KvReclaim& reclaim, Bytes job_memory)
      : reclaim_(reclaim),
        account_(std::make_shared<Account>(&reclaim)),
        job_memory_(job_memory),
        thread_(loop, driver) {}
  ~StoreLender() override { account_->reclaim = nullptr; }

  Task<std::unique_ptr<Hold>> make_room(std::string) override {
    // A job that is cancelled meanwhile drops the answer, and with it what was taken.
    co_return co_await thread_.run(
        [&reclaim = reclaim_, account = account_, wanted = job_memory_]() {
          auto meminfo = read_file("/proc/meminfo");
          std::uint64_t free = meminfo ? available_in(*meminfo).count : 0;
          std::uint64_t needed = wanted.count + kMargin.count;
          Bytes taken = needed > free ? reclaim.reclaim({needed - free}) : Bytes{};
          return std::unique_ptr<Hold>(std::make_unique<Lent>(account, taken));
        });
  }

  std::unique_ptr<Hold> keep_quiet(const std::string&) override { return nullptr; }

 private:
  KvReclaim& reclaim_;
  const std::shared_ptr<Account> account_;  // of the loop's thread
  const Bytes job_memory_;
  WorkerThread thread_;
};

}  // namespace

std::unique_ptr<MemoryLender> lend_from(Loop& loop, RealDriver& driver, KvReclaim& reclaim,
                                        Bytes job_memory) {
  return std::make_unique<StoreLender>(loop, driver, reclaim, job_memory);
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
