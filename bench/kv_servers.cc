#include "kv_servers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "base/text.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

int free_port() {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  ::bind(fd.get(), reinterpret_cast<sockaddr*>(&name), size);
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&name), &size);
  return ntohs(name.sin_port);
}

}  // namespace

std::unique_ptr<ServerProcess> ServerProcess::start(const std::filesystem::path& program,
                                                    std::vector<std::string> arguments, int port,
                                                    std::string& why) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int nothing = ::open("/dev/null", O_RDWR);
    for (int fd : {0, 1, 2}) ::dup2(nothing, fd);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  std::unique_ptr<ServerProcess> server(
      new ServerProcess(pid, KvAddress{.host = "127.0.0.1", .port = port, .path = {}}));
  for (int i = 0; i < 500; ++i) {
    if (NodeClient::connect(server->address_)) return server;
    if (::waitpid(pid, nullptr, WNOHANG) == pid) break;
    std::this_thread::sleep_for(20ms);
  }
  why = fmt::format("{} does not start", program.string());
  return nullptr;
}

std::unique_ptr<ServerProcess> ServerProcess::start_node(const std::string& memory,
                                                         const std::filesystem::path& shm_socket,
                                                         std::string& why) {
  int port = free_port();
  std::filesystem::path program = program_folder() / "specgen-node";
  return start(program,
               {"specgen-node", "--kv", memory, "--kv-listen", fmt::format("127.0.0.1:{}", port),
                "--kv-lane", shm_socket.string()},
               port, why);
}

std::unique_ptr<ServerProcess> ServerProcess::start_redis(int io_threads, std::string& why) {
  // In our folder on hosts without the Debian packages.
  std::filesystem::path program = program_folder() / "redis-check-rdb";
  if (!std::filesystem::exists(program)) program = find_program("redis-check-rdb");
  if (program.empty()) {
    why = "redis-check-rdb is missing (Debian: redis-tools)";
    return nullptr;
  }
  int port = free_port();
  // Started under this name it is the server.
  std::vector<std::string> arguments{"redis-server",
                                     "--port",
                                     std::to_string(port),
                                     "--save",
                                     "",
                                     "--appendonly",
                                     "no",
                                     "--bind",
                                     "127.0.0.1",
                                     "--proto-max-bulk-len",
                                     "512mb",
                                     "--io-threads",
                                     std::to_string(io_threads)};
  if (io_threads > 1) arguments.insert(arguments.end(), {"--io-threads-do-reads", "yes"});
  return start(program, arguments, port, why);
}

ServerProcess::~ServerProcess() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

NodeClient ServerProcess::connect() const {
  auto client = NodeClient::connect(address_, 60s);
  if (!client) std::abort();
  return std::move(*client);
}

double ServerProcess::resident_bytes() const {
  auto status = read_file(fmt::format("/proc/{}/statm", pid_));
  if (!status) return 0;
  auto fields = split(*status, ' ');
  return fields.size() < 2
             ? 0
             : std::atof(std::string(fields[1]).c_str()) * static_cast<double>(::getpagesize());
}

}  // namespace specgen
