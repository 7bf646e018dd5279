// specgen-node with real Redis clients: redis-cli, redis-benchmark and redis-py, as packaged by Debian.

#include <gtest/gtest.h>
#include <signal.h>

#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "runtime/subprocess.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

Task<std::string> first_line_of(AsyncFd& output) {
  std::string line;
  std::array<char, 256> buffer;
  while (!line.contains('\n')) {
    auto n = co_await output.read_some(buffer);
    if (!n || *n == 0) break;
    line.append(buffer.data(), *n);
  }
  co_return line.substr(0, line.find('\n'));
}

// Debian's interpreter, which has Debian's modules.
std::string python() {
  return std::filesystem::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
}

class KvClients : public testing::Test {
 protected:
  // As a service: no controller on standard input.
  void start(std::string more = {}, std::string listen = "127.0.0.1:0") {
    std::string arguments = std::string(SPECGEN_NODE_BINARY) + " --kv 256MiB --kv-listen " +
                            listen + " " + more + " </dev/null";
    node_.emplace(processes_.spawn({.argv = {"sh", "-c", "exec " + arguments}}).value());
    std::string line = runtime_.loop.run(first_line_of(*node_->output));
    constexpr std::string_view kBefore = "listening on ";
    ASSERT_TRUE(line.starts_with(kBefore)) << line;
    line = line.substr(kBefore.size(), line.find(": ") - kBefore.size());
    port_ = line.substr(line.rfind(':') + 1);
  }

  Finished run(std::vector<std::string> argv, std::string input = {}) {
    auto finished = runtime_.loop.run(processes_.run({.argv = std::move(argv),
                                                      .input = std::move(input),
                                                      .output_limit = MiB(64),
                                                      .time_limit = 100s}));
    EXPECT_TRUE(finished.has_value()) << finished.error().text();
    return finished ? std::move(*finished) : Finished{};
  }
  std::string redis_cli(std::vector<std::string> arguments, std::string input = {}) {
    std::vector<std::string> argv{"redis-cli", "-p", port_};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    Finished ended = run(std::move(argv), std::move(input));
    EXPECT_TRUE(ended.exit.ok()) << ended.error_output;
    return std::string(trim(ended.output));
  }
  // The script finds the port in `port` and prints ok at its end.
  void expect_ok(const std::string& script) {
    Finished ended =
        run({python(), "-c", "port = " + (port_.empty() ? "0" : port_) + "\n" + script});
    EXPECT_EQ(trim(ended.output), "ok") << ended.error_output;
  }
  bool has_redis_for_python() { return run({python(), "-c", "import redis"}).exit.ok(); }
  Exit end_by(int signal) {
    ::kill(node_->pid(), signal);
    return runtime_.loop.run(node_->wait());
  }

  TemporaryFolder folder_ = std::move(*TemporaryFolder::make());
  RealRuntime runtime_;
  Processes processes_{runtime_.loop, runtime_.driver};
  std::optional<Process> node_;
  std::string port_;
};

#define SKIP_WITHOUT(program)                                                      \
  if (find_program(program).empty()) {                                             \
    GTEST_SKIP() << "SKIPPED: THERE IS NO " << program << ". NOTHING WAS TESTED."; \
  }
#define SKIP_WITHOUT_REDIS_FOR_PYTHON()                                        \
  if (!has_redis_for_python()) {                                               \
    GTEST_SKIP() << "SKIPPED: THERE IS NO python3-redis. NOTHING WAS TESTED."; \
  }

TEST_F(KvClients, works_with_redis_cli) {
  SKIP_WITHOUT("redis-cli");
  start();
  EXPECT_EQ(redis_cli({"PING"}), "PONG");
  EXPECT_EQ(redis_cli({"SET", "key", "a value"}), "OK");
  EXPECT_EQ(redis_cli({"GET", "key"}), "a value");
  EXPECT_EQ(redis_cli({"GET", "none"}), "");
  EXPECT_EQ(redis_cli({"MGET", "none", "key"}), "a value");
  EXPECT_EQ(redis_cli({"EXISTS", "key", "none", "key"}), "2");
  EXPECT_EQ(redis_cli({"STRLEN", "key"}), "7");
  EXPECT_EQ(redis_cli({"DBSIZE"}), "1");
  EXPECT_EQ(redis_cli({"DEL", "key"}), "1");
  EXPECT_EQ(redis_cli({"-3", "GET", "key"}), "");
  EXPECT_TRUE(redis_cli({"-3", "HELLO"}).contains("proto 3"));
  EXPECT_TRUE(redis_cli({"INFO"}).contains("redis_mode:standalone"));
  EXPECT_TRUE(redis_cli({"KV.STATS"}).contains("specgen_kv_hits_total"));
  EXPECT_EQ(redis_cli({"KV.RECLAIM", "16MiB"}), "16777216");
  EXPECT_EQ(redis_cli({"KV.RESTORE", "16MiB"}), "OK");
  EXPECT_TRUE(redis_cli({"CONFIG", "GET", "save"}).starts_with("save"));
  EXPECT_EQ(redis_cli({}, "SET typed 1\nGET typed\nFLUSHALL\nGET typed\n"), "OK\n1\nOK");
}

TEST_F(KvClients, redis_cli_inserts_in_bulk_and_a_task_is_dropped) {
  SKIP_WITHOUT("redis-cli");
  start();
  std::string commands;
  for (int i = 0; i < 5000; ++i) {
    std::string key = "m@00000001@0@" + std::to_string(i) + (i % 2 ? "@one" : "@two");
    commands += "*3\r\n$3\r\nSET\r\n$" + std::to_string(key.size()) + "\r\n" + key +
                "\r\n$4\r\n\r\n\r\n\r\n";
  }
  EXPECT_TRUE(redis_cli({"--pipe"}, commands).contains("errors: 0, replies: 5000"));
  EXPECT_EQ(redis_cli({"DBSIZE"}), "5000");
  EXPECT_EQ(redis_cli({"KV.PIN", "one", "60"}), "OK");
  EXPECT_EQ(redis_cli({"KV.DROP", "two"}), "2500");
  EXPECT_EQ(redis_cli({"KV.UNPIN", "one"}), "OK");
  EXPECT_EQ(redis_cli({"DBSIZE"}), "2500");
}

TEST_F(KvClients, works_with_redis_benchmark) {
  SKIP_WITHOUT("redis-benchmark");
  start();
  for (std::vector<std::string> more :
       {std::vector<std::string>{"-n", "20000", "-r", "1000", "-c", "50"},
        {"-n", "20000", "-r", "1000", "-P", "16"},
        {"-n", "400", "-r", "40", "-d", "1048576", "-c", "8"},
        {"-n", "400", "-r", "40", "-d", "300000", "--threads", "2"}}) {
    std::vector<std::string> argv{"redis-benchmark", "-p", port_, "-t", "ping,set,get", "-q"};
    argv.insert(argv.end(), more.begin(), more.end());
    Finished ended = run(std::move(argv));
    EXPECT_TRUE(ended.exit.ok()) << ended.error_output;
    EXPECT_TRUE(ended.output.contains("GET:")) << ended.output;
    EXPECT_FALSE((ended.output + ended.error_output).contains("rror"))
        << ended.output << ended.error_output;
  }
}

TEST_F(KvClients, works_with_redis_for_python) {
  SKIP_WITHOUT_REDIS_FOR_PYTHON();
  start();
  expect_ok(R"python(
import os, redis
r = redis.Redis(port=port)
assert r.ping() and r.get('none') is None and r.set('k', b'\r\n\0') and r.get('k') == b'\r\n\0'
assert r.exists('k') == 1 and r.delete('k') == 1 and r.delete('k') == 0 and r.dbsize() == 0
assert r.set('n', 1, nx=True, ex=100) and r.set('n', 2, nx=True) is None and r.get('n') == b'1'
assert r.mget('n', 'none') == [b'1', None] and r.echo('x') == b'x' and r.info()['redis_mode'] == 'standalone'
assert r.client_setname('me') and r.client_getname() == 'me' and r.config_get('appendonly') == {'appendonly': 'no'}
large = os.urandom(80 << 20)
assert r.set('large', large) and r.get('large') == large and r.strlen('large') == len(large)
values = [os.urandom(100000 + i) for i in range(50)]
with r.pipeline(transaction=False) as p:      # sends all, then reads all
    for i, v in enumerate(values): p.set(f'p{i}', v); p.get(f'p{i}')
    replies = p.execute()
assert replies[0::2] == [True] * 50 and replies[1::2] == values
assert r.flushall() and r.dbsize() == 0
print('ok')
)python");
}

TEST_F(KvClients, a_pool_of_150_connections_stores_pairs_as_lmcache_does) {
  SKIP_WITHOUT_REDIS_FOR_PYTHON();
  start();
  expect_ok(R"python(
import asyncio, os
import redis.asyncio as redis
async def main():
    r = redis.Redis(connection_pool=redis.ConnectionPool(port=port, max_connections=150))
    async def chunk(i):
        key = f'model@1@0@{i:08x}@bfloat16'
        value = os.urandom(65536 + i)
        await r.set(key + 'kv_bytes', value)
        await r.set(key + 'metadata', b'm' * 28)
        assert await r.exists(key + 'metadata') == 1
        assert await r.get(key + 'metadata') == b'm' * 28
        assert await r.get(key + 'kv_bytes') == value
    for first in (0, 150): await asyncio.gather(*[chunk(first + i) for i in range(150)])
asyncio.run(main())
print('ok')
)python");
}

TEST_F(KvClients, a_local_socket_is_removed_at_the_end) {
  SKIP_WITHOUT("redis-cli");
  std::string path = folder_.path() / "kv.sock";
  start({}, "unix:" + path);
  EXPECT_EQ(trim(run({"redis-cli", "-s", path, "SET", "k", "v"}).output), "OK");
  EXPECT_EQ(trim(run({"redis-cli", "-s", path, "GET", "k"}).output), "v");
  EXPECT_EQ(end_by(SIGTERM).signal, SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(KvClients, other_hosts_need_the_password_and_tls_if_configured) {
  SKIP_WITHOUT("redis-cli");
  SKIP_WITHOUT("openssl");
  std::string base = folder_.path();
  Finished made = run({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                       "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                       "-keyout", base + "/key.pem", "-out", base + "/cert.pem"});
  ASSERT_TRUE(made.exit.ok()) << made.error_output;
  ASSERT_TRUE(write_file_durably(base + "/password", "open sesame\n").has_value());
  start("--kv-open --kv-password-file " + base + "/password --kv-tls-cert " + base +
            "/cert.pem --kv-tls-key " + base + "/key.pem",
        "0.0.0.0:0");
  std::vector<std::string> tls{"--tls", "--cacert", base + "/cert.pem"};
  auto output = [&](std::vector<std::string> arguments) {
    std::vector<std::string> all = tls;
    all.insert(all.end(), arguments.begin(), arguments.end());
    return redis_cli(std::move(all));
  };
  EXPECT_TRUE(output({"GET", "k"}).contains("NOAUTH"));
  EXPECT_EQ(output({"--no-auth-warning", "-a", "open sesame", "SET", "k", "v"}), "OK");
  EXPECT_EQ(output({"--no-auth-warning", "-a", "open sesame", "GET", "k"}), "v");
  EXPECT_FALSE(run({"redis-cli", "-p", port_, "PING"}).output.contains("PONG"));  // without TLS
  if (!has_redis_for_python()) return;
  expect_ok("cert = '" + base + "/cert.pem'" + R"python(
import os, redis
r = redis.Redis(port=port, ssl=True, ssl_ca_certs=cert, ssl_check_hostname=False, password='open sesame')
value = os.urandom(10 << 20)
assert r.set('large', value)
assert all(r.get('large') == value for _ in range(5))
print('ok')
)python");
}

TEST_F(KvClients, ten_thousand_idle_connections_do_not_disturb_others) {
  start();
  expect_ok(R"python(
import resource, socket
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
assert hard > 10100, 'this test needs more descriptors'
idle = [socket.create_connection(('127.0.0.1', port)) for _ in range(10000)]
for s in idle[::100]: s.sendall(b'PING\r\n'); assert s.recv(7, socket.MSG_WAITALL) == b'+PONG\r\n'
busy = socket.create_connection(('127.0.0.1', port))
for i in range(1000): busy.sendall(b'*2\r\n$3\r\nGET\r\n$1\r\nk\r\n'); assert busy.recv(5) == b'$-1\r\n'
busy.sendall(b'INFO\r\n')
assert b'connected_clients:10001\r\n' in busy.recv(65536)
print('ok')
)python");
}

TEST_F(KvClients, serves_a_controller_and_clients) {
  SKIP_WITHOUT("redis-cli");
  std::string path = folder_.path() / "kv.sock";
  node_.emplace(processes_
                    .spawn({.argv = {SPECGEN_NODE_BINARY, "--devices", "cpu:0", "--kv", "128MiB",
                                     "--kv-listen", "unix:" + path}})
                    .value());
  std::string frame = runtime_.loop.run(first_line_of(*node_->error_output));
  EXPECT_TRUE(frame.starts_with("listening on unix:")) << frame;
  EXPECT_EQ(trim(run({"redis-cli", "-s", path, "SET", "k", "v"}).output), "OK");
  std::array<char, 4096> buffer;
  auto came = runtime_.loop.run(node_->output->read_some(buffer));
  ASSERT_TRUE(came.has_value());
  EXPECT_TRUE(std::string_view(buffer.data(), *came).contains("hello"));
  node_->input.reset();
  EXPECT_TRUE(runtime_.loop.run(node_->wait()).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(KvClients, reports_invalid_flags) {
  auto error_of = [&](std::string arguments) {
    Finished ended = run(
        {"sh", "-c", "exec " + std::string(SPECGEN_NODE_BINARY) + " " + arguments + " </dev/null"});
    EXPECT_EQ(ended.exit.code, 2) << ended.error_output;
    return ended.error_output;
  };
  EXPECT_TRUE(error_of("--kv much").contains("'much' is not a size"));
  EXPECT_TRUE(error_of("--kv 1GiB,disk=3").contains("device=SIZE"));
  EXPECT_TRUE(error_of("--kv 256MiB --kv-listen 0.0.0.0:0").contains("--kv-open"));
  EXPECT_TRUE(error_of("--kv 256MiB --kv-listen nowhere").contains("HOST:PORT"));
  EXPECT_TRUE(error_of("--kv 1MiB").contains("no capacity"));
}

}  // namespace
}  // namespace specgen
