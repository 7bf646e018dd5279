// The KV cache compared with redis-server on this machine: the same clients, interleaved; the shared-memory
// transport compared with both; and how long an evaluation waits for its memory.

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <functional>
#include <span>
#include <thread>

#include "base/temporary_folder.h"
#include "base/text.h"
#include "figures.h"
#include "kv_servers.h"
#include "kvcache/client/specgen_kv.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr int kRounds = 7;
constexpr std::size_t kRoundBytes = 256 << 20;  // per measurement
// GETs are repeated by every client: one round takes about 30 ms, less than threads need to start together on a busy
// machine.
constexpr int kGetPasses = 3;
constexpr int kReclaims = 110;
constexpr int kIdleConnections = 2000;

struct Load {
  std::size_t value_bytes = 0;
  int connections = 1;
  int each() const {
    return std::max(1, static_cast<int>(kRoundBytes / value_bytes) / connections);
  }
  double gigabytes() const {
    return 1e-9 * static_cast<double>(value_bytes) * each() * connections;
  }
};

std::string key_of(int round, int client, int number) {
  return fmt::format("bench@00000001@0@{:x}{:04x}{:04x}", round + 1, client, number);
}

// Runs `work(client)` on this many threads, which start together; returns the seconds until the last has
// ended. `prepare`
// is not timed.
template <class Client>
double timed(int clients, const std::function<Client(int)>& prepare,
             const std::function<void(Client&, int)>& work) {
  std::vector<std::thread> threads;
  std::barrier begin(clients + 1), end(clients + 1);
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      Client client = prepare(i);
      begin.arrive_and_wait();
      work(client, i);
      end.arrive_and_wait();
    });
  }
  begin.arrive_and_wait();
  Stopwatch watch;
  end.arrive_and_wait();
  double seconds = watch.seconds();
  for (std::thread& thread : threads) thread.join();
  return seconds;
}

struct TcpClient {
  NodeClient client;
  std::string value;
};

struct Rates {
  double set = 0, get = 0;  // GB/s
};

// Sets new keys, gets them, and deletes everything.
Rates measure_tcp(const ServerProcess& server, Load load, int round) {
  auto prepare = [&](int i) {
    return TcpClient{server.connect(), std::string(load.value_bytes, static_cast<char>('a' + i))};
  };
  auto must = [](bool ok) {
    if (!ok) std::abort();
  };
  Rates rates;
  rates.set =
      load.gigabytes() / timed<TcpClient>(load.connections, prepare, [&](TcpClient& mine, int i) {
        for (int n = 0; n < load.each(); ++n)
          must(mine.client.set(key_of(round, i, n), mine.value).has_value());
      });
  std::atomic<int> misses = 0;
  rates.get = kGetPasses * load.gigabytes() /
              timed<TcpClient>(load.connections, prepare, [&](TcpClient& mine, int i) {
                for (int n = 0; n < kGetPasses * load.each(); ++n) {
                  auto came = mine.client.get(key_of(round, i, n % load.each()), mine.value);
                  must(came.has_value());
                  if (!*came) ++misses;
                }
              });
  if (misses > 0) note("  misses: this row does not count", fmt::format("{}", misses.load()));
  must(server.connect().request({"FLUSHALL"}).has_value());
  return rates;
}

constexpr std::size_t kBuffersPerClient = 4;  // pending requests of one client

struct ShmClient {
  std::unique_ptr<specgen_kv, void (*)(specgen_kv*)> kv;
  std::array<char*, kBuffersPerClient> buffers;
};

ShmClient open_shm(const std::filesystem::path& shm_socket, std::size_t value_bytes) {
  ShmClient client{
      {specgen_kv_open(shm_socket.c_str(), 2 * kBuffersPerClient * value_bytes, 60000, nullptr, 0),
       specgen_kv_close},
      {}};
  if (!client.kv) std::abort();
  for (char*& buffer : client.buffers) {
    buffer = static_cast<char*>(specgen_kv_reserve(client.kv.get(), value_bytes));
  }
  return client;
}

// As the plugin of an LLM server does it: several pending requests, each with a buffer of its own. Returns the number
// of failures.
int do_all(ShmClient& client, int operation, std::size_t value_bytes,
           const std::vector<std::string>& keys) {
  std::size_t sent = 0;
  auto send = [&](std::size_t buffer) {
    const std::string& key = keys[sent++];
    specgen_kv_request request{.tag = buffer,
                               .op = operation,
                               .key = key.data(),
                               .key_bytes = key.size(),
                               .buffer = client.buffers[buffer],
                               .bytes = value_bytes};
    if (specgen_kv_submit(client.kv.get(), &request, 1) != SPECGEN_KV_OK) std::abort();
  };
  for (std::size_t buffer = 0; buffer < kBuffersPerClient && sent < keys.size(); ++buffer)
    send(buffer);
  int failed = 0;
  std::array<specgen_kv_completion, kBuffersPerClient> completions;
  for (std::size_t done = 0; done < keys.size();) {
    int count = specgen_kv_drain(client.kv.get(), completions.data(), completions.size());
    if (count < 0) std::abort();
    if (count == 0) {
      pollfd ready{.fd = specgen_kv_event_fd(client.kv.get()), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, -1);
    }
    for (const auto& completion : std::span(completions).first(static_cast<std::size_t>(count))) {
      if (completion.status != SPECGEN_KV_OK) ++failed;
      if (sent < keys.size()) send(completion.tag);
      ++done;
    }
  }
  return failed;
}

Rates measure_shm(const std::filesystem::path& shm_socket, const ServerProcess& server, Load load,
                  int round) {
  std::atomic<int> failed = 0;
  auto rate = [&](int operation, int passes) {
    auto prepare = [&](int i) {
      ShmClient client = open_shm(shm_socket, load.value_bytes);
      for (char* buffer : client.buffers) {
        std::fill_n(buffer, load.value_bytes, static_cast<char>('a' + i));
      }
      return client;
    };
    double seconds = timed<ShmClient>(load.connections, prepare, [&](ShmClient& mine, int i) {
      std::vector<std::string> keys;
      for (int n = 0; n < passes * load.each(); ++n) {
        keys.push_back(key_of(round, i, n % load.each()));
      }
      failed += do_all(mine, operation, load.value_bytes, keys);
    });
    return passes * load.gigabytes() / seconds;
  };
  Rates rates;
  rates.set = rate(SPECGEN_KV_OP_PUT, 1);
  rates.get = rate(SPECGEN_KV_OP_GET, kGetPasses);
  if (failed > 0) note("  misses: this row does not count", fmt::format("{}", failed.load()));
  (void)server.connect().request({"FLUSHALL"});
  return rates;
}

double stat(const ServerProcess& node, std::string_view name) {
  auto text = node.connect().request({"KV.STATS"});
  if (!text) return 0;
  for (std::string_view line : split(*text, '\n')) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with(' ')) {
      return std::atof(std::string(line.substr(name.size() + 1)).c_str());
    }
  }
  return 0;
}

// Waits until all memory of the node is faulted in.
void wait_until_ready(const ServerProcess& node) {
  double bytes = 0.999 * stat(node, "specgen_kv_lent_bytes");
  for (int i = 0;
       i < 6000 &&
       stat(node, "specgen_kv_ready_bytes") + stat(node, "specgen_kv_used_bytes") < bytes;
       ++i) {
    std::this_thread::sleep_for(10ms);
  }
}

struct Ratios {
  std::vector<double> ours, theirs, ratios;
  void add(double our, double their) {
    ours.push_back(our);
    theirs.push_back(their);
    ratios.push_back(our / their);
  }
  void print(const std::string& name, double goal) const {
    double ratio = quantile(ratios, 0.5);
    at_least(
        fmt::format("{}: {:.2f} against {:.2f} GB/s", name, quantile(ours, 0.5),
                    quantile(theirs, 0.5)),
        ratio, goal,
        fmt::format("{:.2f}x ({:.2f}-{:.2f})", ratio, quantile(ratios, 0), quantile(ratios, 1)),
        fmt::format("{:.1f}x", goal));
  }
};

bool has_many_cores() {
  return std::thread::hardware_concurrency() >= 8;
}

void compare_tcp(const ServerProcess& node, const ServerProcess& redis) {
  int round = 0;
  for (std::size_t mib : {1, 4}) {
    for (int connections : {1, 4, 8}) {
      Load load{mib << 20, connections};
      Ratios set, get;
      for (int i = 0; i < kRounds; ++i, ++round) {
        // Who comes first changes, so that neither has the better half of the machine's moods.
        Rates ours, theirs;
        if (i % 2 == 0) ours = measure_tcp(node, load, round);
        theirs = measure_tcp(redis, load, round);
        if (i % 2 == 1) ours = measure_tcp(node, load, round);
        set.add(ours.set, theirs.set);
        get.add(ours.get, theirs.get);
      }
      double most = has_many_cores() && connections == 8 ? 2.5 : 1.0;
      set.print(fmt::format("SET {} MiB, {} conn.", mib, connections),
                mib == 1 && connections >= 4 ? std::max(1.3, most) : most);
      get.print(fmt::format("GET {} MiB, {} conn.", mib, connections), most);
    }
  }
}

void compare_shm(const ServerProcess& node, const ServerProcess& redis,
                 const std::filesystem::path& shm_socket) {
  int round = 10000;
  for (std::size_t mib : {1, 4}) {
    for (int connections : {1, 4}) {
      Load load{mib << 20, connections};
      Ratios set, get;
      for (int i = 0; i < kRounds; ++i, ++round) {
        Rates ours = measure_shm(shm_socket, node, load, round),
              theirs = measure_tcp(redis, load, round);
        set.add(ours.set, theirs.set);
        get.add(ours.get, theirs.get);
      }
      set.print(fmt::format("shm, put {} MiB, {} cl.", mib, connections), 4);
      get.print(fmt::format("shm, get {} MiB, {} cl.", mib, connections), 4);
    }
  }
}

void bench_idle(const ServerProcess& server, std::string_view name) {
  double before = server.resident_bytes();
  {
    std::vector<NodeClient> idle;
    for (int i = 0; i < kIdleConnections; ++i) {
      idle.push_back(server.connect());
      (void)idle.back().request({"PING"});
    }
    double each = (server.resident_bytes() - before) / kIdleConnections;
    note(fmt::format("{}: an idle connection", name), fmt::format("{:.1f} KiB", each / 1024));
  }
}

}  // namespace

void bench_kvcache_reclaim() {
  heading(
      "KV cache: memory that an evaluation reclaims, four clients storing and fetching 4 MiB "
      "values");
  auto folder = TemporaryFolder::make();
  if (!folder) return note("cannot be measured here", folder.error().summary());
  std::filesystem::path shm_socket = folder->path() / "shm";
  std::string why;
  auto node = ServerProcess::start_node("3GiB", shm_socket, why);
  if (!node) return note("reclaim cannot be measured", why);
  constexpr double kGiB = 1 << 30;
  wait_until_ready(*node);
  std::atomic<bool> stop = false;
  std::atomic<long> done = 0, broken = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      NodeClient client = node->connect();
      std::string value(4 << 20, static_cast<char>('a' + i));
      for (int n = 0; !stop; ++n) {
        // Always new keys: existing values would not be stored again.
        std::string key = fmt::format("reclaim:{}:{}", i, n);
        if (!client.set(key, value) || !client.get(key, value)) ++broken;
        ++done;
      }
    });
  }
  NodeClient reclaimer = node->connect();
  std::vector<double> took;
  double short_of = 0;
  for (int i = 0; i < kReclaims; ++i) {
    // Filled again, or it would be empty pages that come back.
    for (int tries = 0; tries < 2000 && stat(*node, "specgen_kv_used_bytes") < 2.5 * kGiB;
         ++tries) {
      std::this_thread::sleep_for(5ms);
    }
    Stopwatch watch;
    auto bytes = reclaimer.request({"KV.RECLAIM", "1GiB"});
    took.push_back(1e3 * watch.seconds());
    if (!bytes || std::atof(bytes->c_str()) < kGiB) ++short_of;
    (void)reclaimer.request({"KV.RESTORE", "1GiB"});
    if (took.size() % 20 ==
        0) {  // minutes pass between: where first touches are slow, most of it is their time
      note(fmt::format("  after {}: p50 / longest", took.size()),
           fmt::format("{:.1f} / {:.1f} ms", quantile(took, 0.5), quantile(took, 1)));
    }
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  at_most(fmt::format("reclaim of 1 GiB under load, p99 of {}", took.size()), quantile(took, 0.99),
          50, fmt::format("{:.1f} ms", quantile(took, 0.99)), "50 ms");
  note("  p50 / longest",
       fmt::format("{:.1f} / {:.1f} ms", quantile(took, 0.5), quantile(took, 1)));
  note("  values stored and fetched meanwhile", fmt::format("{}", done.load()));
  if (broken > 0)
    note("  connections that broke: this must not be", fmt::format("{}", broken.load()));
  if (short_of > 0) note("  reclaimed less than requested", fmt::format("{:.0f} times", short_of));
}

void bench_kvcache() {
  unsigned cores = std::thread::hardware_concurrency();
  int io_threads = cores > 4 ? 4 : 1;
  heading(fmt::format(
      "KV cache beside redis-server: {} cores, redis io-threads {}, {} rounds each, medians (and "
      "ranges) of ratios",
      cores, io_threads, kRounds));
  auto folder = TemporaryFolder::make();
  if (!folder) return note("cannot be measured here", folder.error().summary());
  std::filesystem::path shm_socket = folder->path() / "shm";
  std::string why;
  auto node = ServerProcess::start_node("1536MiB", shm_socket, why);
  if (!node) return note("cannot be measured here", why);
  wait_until_ready(*node);
  bench_idle(*node, "node");
  if (auto redis = ServerProcess::start_redis(io_threads, why)) {
    bench_idle(*redis, "redis-server");
    compare_tcp(*node, *redis);
    compare_shm(*node, *redis, shm_socket);
  } else {
    note("redis-server cannot be set beside it", why);
  }
}

}  // namespace specgen
