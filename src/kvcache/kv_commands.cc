#include "kvcache/kv_commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "kvcache/kv_metrics.h"
#include "kvcache/resp_replies.h"

namespace specgen {
namespace {

using Arguments = const RespParser&;

// --- values ---

// Records the requested key: the next request follows it in the chain.
class RequestOrder {
 public:
  RequestOrder(KvClient& client, std::string_view key) : client_(client), key_(key) {}
  ~RequestOrder() {
    if (key_.size() <= kMaxKeyBytes) client_.last_key.assign(key_);
  }
  std::string_view after() const { return client_.last_key; }

 private:
  KvClient& client_;
  std::string_view key_;
};

std::string_view nil_of(const KvClient& client) {
  return client.speaks_resp3 ? "_\r\n" : "$-1\r\n";
}

bool is_not_worth_fetching(KvClient& client, std::string_view key, std::string_view after) {
  if (!client.link->declines(client.service.rate)) return false;
  if (!client.service.store.contains(key, after)) return false;  // a normal miss
  ++client.service.store.counters().slower_than_computing;
  return true;
}

void add_value_of(KvClient& client, std::string_view key) {
  RequestOrder order(client, key);
  std::unique_ptr<KvStore::Reader> value;
  if (key.size() <= kMaxKeyBytes && !is_not_worth_fetching(client, key, order.after())) {
    value = client.service.store.find(key, order.after());
  }
  if (value) {
    client.replies.add_value(std::move(value), nil_of(client));
  } else {
    client.replies.add(nil_of(client));
  }
}

bool holds(KvClient& client, std::string_view key) {
  if (key.size() > kMaxKeyBytes) return false;
  RequestOrder order(client, key);
  return !is_not_worth_fetching(client, key, order.after()) &&
         client.service.store.contains(key, order.after());
}

bool get(KvClient& client, Arguments command) {
  add_value_of(client, command.argument(1));
  return true;
}

bool mget(KvClient& client, Arguments command) {
  if (client.keys_answered == 0) resp::add_array(client.replies, command.count() - 1);
  while (client.keys_answered + 1 < command.count()) {
    if (client.replies.is_full()) return false;
    add_value_of(client, command.argument(++client.keys_answered));
  }
  client.keys_answered = 0;
  return true;
}

struct SetOptions {
  std::optional<Duration> time_to_live;
  bool only_new = false;  // NX
  bool only_old = false;  // XX
};

// Unknown options are ignored: a SET is never an error.
SetOptions set_options(Arguments command, std::size_t first) {
  SetOptions options;
  for (std::size_t i = first; i < command.count(); ++i) {
    std::string_view option = command.argument(i);
    options.only_new |= equals_ignoring_case(option, "nx");
    options.only_old |= equals_ignoring_case(option, "xx");
    bool is_seconds = equals_ignoring_case(option, "ex");
    if ((!is_seconds && !equals_ignoring_case(option, "px")) || i + 1 == command.count()) continue;
    auto number = resp::parse_integer(command.argument(++i));
    constexpr std::int64_t kMax = 1'000'000'000;
    if (!number || *number <= 0 || *number > kMax) continue;
    options.time_to_live =
        is_seconds ? Duration(std::chrono::seconds(*number)) : std::chrono::milliseconds(*number);
  }
  return options;
}

void fill(KvStore::Writer& writer, std::string_view bytes) {
  while (!bytes.empty()) {
    bytes.remove_prefix(writer.for_piece(bytes.size(), [&](std::span<char> target) {
      std::size_t length = std::min(target.size(), bytes.size());
      std::copy_n(bytes.data(), length, target.data());
      return length;
    }));
  }
}

bool set(KvClient& client, Arguments command) {
  std::string_view key = command.argument(1);
  std::unique_ptr<KvStore::Writer> writer = std::move(client.writing);
  SetOptions options = set_options(command, command.has_value() ? 2 : 3);
  if (!command.has_value() && command.count() > 2 && key.size() <= kMaxKeyBytes) {
    RequestOrder order(client, key);
    writer = client.service.store.write(key, command.argument(2).size(), order.after());
    fill(*writer, command.argument(2));
  }
  if (options.only_new || options.only_old) {
    if (client.service.store.contains(key) == options.only_new) {
      client.replies.add(nil_of(client));
      return true;
    }
  }
  if (writer) writer->publish(options.time_to_live);
  client.replies.add("+OK\r\n");
  return true;
}

bool exists(KvClient& client, Arguments command) {
  std::int64_t found = 0;
  for (std::size_t i = 1; i < command.count(); ++i) found += holds(client, command.argument(i));
  resp::add_number(client.replies, found);
  return true;
}

bool del(KvClient& client, Arguments command) {
  std::int64_t removed = 0;
  for (std::size_t i = 1; i < command.count(); ++i) {
    removed += client.service.store.remove(command.argument(i));
  }
  resp::add_number(client.replies, removed);
  return true;
}

bool strlen_of(KvClient& client, Arguments command) {
  auto value = client.service.store.read(command.argument(1));
  resp::add_number(client.replies, value ? static_cast<std::int64_t>(value->bytes()) : 0);
  return true;
}

bool dbsize(KvClient& client, Arguments) {
  resp::add_number(client.replies, static_cast<std::int64_t>(client.service.store.size()));
  return true;
}

bool flush(KvClient& client, Arguments) {
  client.service.store.clear();
  client.replies.add("+OK\r\n");
  return true;
}

// Keys are hashes of prompts that no client lists: SCAN returns nothing.
bool scan(KvClient& client, Arguments) {
  client.replies.add("*2\r\n$1\r\n0\r\n*0\r\n");
  return true;
}

// --- the connection ---

bool ping(KvClient& client, Arguments command) {
  if (command.count() > 1) {
    resp::add_bulk(client.replies, command.argument(1));
  } else {
    client.replies.add("+PONG\r\n");
  }
  return true;
}

bool echo(KvClient& client, Arguments command) {
  resp::add_bulk(client.replies, command.argument(1));
  return true;
}

bool ok(KvClient& client, Arguments) {
  client.replies.add("+OK\r\n");
  return true;
}

bool quit(KvClient& client, Arguments) {
  client.is_leaving = true;
  client.replies.add("+OK\r\n");
  return true;
}

bool is_password(KvClient& client, std::string_view given) {
  if (client.service.password.empty() || is_same_secret(given, client.service.password)) {
    client.is_authenticated = true;
    return true;
  }
  ++client.wrong_passwords;
  ++client.service.counters.wrong_passwords;
  client.replies.add("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  return false;
}

// For any user name: there is one password.
bool auth(KvClient& client, Arguments command) {
  if (is_password(client, command.argument(command.count() - 1))) client.replies.add("+OK\r\n");
  return true;
}

bool hello(KvClient& client, Arguments command) {
  bool resp3 = client.speaks_resp3;
  std::size_t next = 1;
  if (command.count() > 1) {
    std::string_view version = command.argument(1);
    if (version != "2" && version != "3") {
      client.replies.add("-NOPROTO unsupported protocol version\r\n");
      return true;
    }
    resp3 = version == "3";
    next = 2;
  }
  for (; next < command.count(); ++next) {
    bool is_auth = equals_ignoring_case(command.argument(next), "auth");
    bool is_name = equals_ignoring_case(command.argument(next), "setname");
    std::size_t takes = is_auth ? 2 : is_name ? 1 : 0;
    if (takes == 0 || next + takes >= command.count()) {
      client.replies.add("-ERR syntax error in HELLO\r\n");
      return true;
    }
    next += takes;
    if (is_auth && !is_password(client, command.argument(next))) return true;
    if (is_name) client.name.assign(command.argument(next).substr(0, resp::kMaxName));
  }
  if (!client.is_authenticated) {
    client.replies.add(resp::kNotAuthenticated);
    return true;
  }
  client.speaks_resp3 = resp3;
  resp::add_map(client.replies, 7, resp3);
  for (auto [name, text] : {std::pair("server", "redis"), std::pair("version", resp::kVersion)}) {
    resp::add_bulk(client.replies, name);
    resp::add_bulk(client.replies, text);
  }
  resp::add_bulk(client.replies, "proto");
  resp::add_number(client.replies, resp3 ? 3 : 2);
  resp::add_bulk(client.replies, "id");
  resp::add_number(client.replies, static_cast<std::int64_t>(client.id));
  for (auto [name, text] : {std::pair("mode", "standalone"), std::pair("role", "master")}) {
    resp::add_bulk(client.replies, name);
    resp::add_bulk(client.replies, text);
  }
  resp::add_bulk(client.replies, "modules");
  resp::add_array(client.replies, 0);
  return true;
}

bool select(KvClient& client, Arguments command) {
  client.replies.add(command.argument(1) == "0" ? "+OK\r\n" : "-ERR DB index is out of range\r\n");
  return true;
}

bool client_command(KvClient& client, Arguments command) {
  std::string_view what = command.argument(1);
  if (equals_ignoring_case(what, "id")) {
    resp::add_number(client.replies, static_cast<std::int64_t>(client.id));
  } else if (equals_ignoring_case(what, "getname")) {
    resp::add_bulk(client.replies, client.name);
  } else if (equals_ignoring_case(what, "info") || equals_ignoring_case(what, "list")) {
    resp::add_bulk(client.replies, fmt::format("id={} name={}\n", client.id, client.name));
  } else {
    if (equals_ignoring_case(what, "setname") && command.count() > 2) {
      client.name.assign(command.argument(2).substr(0, resp::kMaxName));
    }
    client.replies.add("+OK\r\n");
  }
  return true;
}

// --- about the server ---

bool command_command(KvClient& client, Arguments command);

bool info(KvClient& client, Arguments) {
  resp::add_bulk(client.replies, info_text(client.service));
  return true;
}

bool stats(KvClient& client, Arguments) {
  resp::add_bulk(client.replies, metrics_text(client.service));
  return true;
}

bool config(KvClient& client, Arguments command) {
  if (!equals_ignoring_case(command.argument(1), "get")) {
    client.replies.add("-ERR only CONFIG GET is supported: settings are flags of the node\r\n");
    return true;
  }
  const std::array known{
      std::pair(std::string("save"), std::string()),
      std::pair(std::string("appendonly"), std::string("no")),
      std::pair(std::string("maxmemory"), std::to_string(client.service.store.capacity().count)),
      std::pair(std::string("databases"), std::string("1")),
      std::pair(std::string("proto-max-bulk-len"), std::to_string(kMaxValueBytes))};
  std::vector<const std::pair<std::string, std::string>*> asked;
  for (const auto& entry : known) {
    for (std::size_t i = 2; i < command.count(); ++i) {
      bool is_asked =
          command.argument(i) == "*" || equals_ignoring_case(command.argument(i), entry.first);
      if (!is_asked) continue;
      asked.push_back(&entry);
      break;
    }
  }
  resp::add_map(client.replies, asked.size(), client.speaks_resp3);
  for (const auto* entry : asked) {
    resp::add_bulk(client.replies, entry->first);
    resp::add_bulk(client.replies, entry->second);
  }
  return true;
}

// --- specgen commands ---

bool pin(KvClient& client, Arguments command) {
  auto seconds = resp::parse_integer(command.argument(2));
  constexpr std::int64_t kMax = 1'000'000;
  if (!seconds || *seconds <= 0 || *seconds > kMax) {
    client.replies.add("-ERR usage: KV.PIN TASK SECONDS, at most a million seconds\r\n");
    return true;
  }
  client.service.store.pin(command.argument(1), std::chrono::seconds(*seconds));
  client.replies.add("+OK\r\n");
  return true;
}

bool unpin(KvClient& client, Arguments command) {
  client.service.store.unpin(command.argument(1));
  client.replies.add("+OK\r\n");
  return true;
}

bool drop(KvClient& client, Arguments command) {
  std::size_t dropped = client.service.store.drop_task(command.argument(1));
  resp::add_number(client.replies, static_cast<std::int64_t>(dropped));
  return true;
}

struct Amount {  // BYTES [DEVICE N]
  Bytes bytes;
  std::optional<int> device;
};

std::optional<Amount> amount_in(Arguments command) {
  auto bytes = parse_bytes(command.argument(1));
  if (!bytes) return std::nullopt;
  if (command.count() == 2) return Amount{.bytes = *bytes, .device = std::nullopt};
  constexpr std::int64_t kMaxDevices = 64;
  auto device = command.count() == 4 ? resp::parse_integer(command.argument(3)) : std::nullopt;
  bool is_device = equals_ignoring_case(command.argument(2), "device") && device && *device >= 0;
  if (!is_device || *device >= kMaxDevices) return std::nullopt;
  return Amount{.bytes = *bytes, .device = static_cast<int>(*device)};
}

constexpr std::string_view kWrongAmount =
    "-ERR usage: a size such as 1GiB, and DEVICE N for a GPU\r\n";

bool reclaim(KvClient& client, Arguments command) {
  auto wanted = amount_in(command);
  if (!wanted) {
    client.replies.add(kWrongAmount);
    return true;
  }
  client.slow = [&service = client.service, wanted = *wanted] {
    Bytes given = wanted.device ? service.reclaim.reclaim_device(*wanted.device, wanted.bytes)
                                : service.reclaim.reclaim(wanted.bytes);
    return fmt::format(":{}\r\n", given.count);
  };
  return true;
}

bool restore(KvClient& client, Arguments command) {
  auto given = amount_in(command);
  if (!given) {
    client.replies.add(kWrongAmount);
    return true;
  }
  client.slow = [&store = client.service.store, given = *given]() -> std::string {
    if (given.device) {
      store.restore_device(*given.device, given.bytes);
    } else {
      store.restore(given.bytes);
    }
    return "+OK\r\n";
  };
  return true;
}

// --- the table ---

struct Command {
  std::string_view name;  // in lower case
  std::size_t at_least;   // arguments, including its name
  std::size_t at_most;
  bool (*run)(KvClient&, Arguments);
  bool is_for_all = false;  // allowed without a password
};

constexpr std::size_t kAny = ~std::size_t{0};
constexpr std::array kCommands{
    Command{"get", 2, 2, get},
    Command{"set", 3, kAny, set},
    Command{"exists", 2, kAny, exists},
    Command{"del", 2, kAny, del},
    Command{"unlink", 2, kAny, del},
    Command{"mget", 2, kAny, mget},
    Command{"strlen", 2, 2, strlen_of},
    Command{"dbsize", 1, 1, dbsize},
    Command{"flushdb", 1, 2, flush},
    Command{"flushall", 1, 2, flush},
    Command{"scan", 2, kAny, scan},
    Command{"ping", 1, 2, ping},
    Command{"echo", 2, 2, echo},
    Command{"quit", 1, kAny, quit, true},
    Command{"auth", 2, 3, auth, true},
    Command{"hello", 1, kAny, hello, true},
    Command{"select", 2, 2, select},
    Command{"readonly", 1, 1, ok},
    Command{"client", 2, kAny, client_command},
    Command{"command", 1, kAny, command_command},
    Command{"info", 1, kAny, info},
    Command{"config", 2, kAny, config},
    Command{"kv.pin", 3, 3, pin},
    Command{"kv.unpin", 2, 2, unpin},
    Command{"kv.drop", 2, 2, drop},
    Command{"kv.reclaim", 2, 4, reclaim},
    Command{"kv.restore", 2, 4, restore},
    Command{"kv.stats", 1, 1, stats},
};

const Command* find(std::string_view name) {
  auto found = std::ranges::find_if(
      kCommands, [&](const Command& known) { return equals_ignoring_case(name, known.name); });
  return found == kCommands.end() ? nullptr : &*found;
}

bool command_command(KvClient& client, Arguments command) {
  if (command.count() > 1 && equals_ignoring_case(command.argument(1), "count")) {
    resp::add_number(client.replies, kCommands.size());
  } else {
    resp::add_array(client.replies, 0);
  }
  return true;
}

}  // namespace

KvClient::KvClient(KvService& its_service, std::shared_ptr<LinkMeter> its_link)
    : service(its_service),
      link(std::move(its_link)),
      id(++its_service.last_client),
      is_authenticated(its_service.password.empty()) {}

void begin_set(KvClient& client, const RespParser& command) {
  std::string_view key = command.argument(1);
  client.writing.reset();
  if (!client.is_authenticated || key.size() > kMaxKeyBytes) return;
  RequestOrder order(client, key);
  client.writing = client.service.store.write(key, command.value_bytes(), order.after());
}

bool run_command(KvClient& client, const RespParser& command) {
  const Command* known = find(command.argument(0));
  if (client.keys_answered == 0) ++client.service.counters.commands;
  if (!client.is_authenticated && !(known && known->is_for_all)) {
    client.replies.add(resp::kNotAuthenticated);
    return true;
  }
  if (!known) {
    resp::add_error(client.replies, "unknown command '", command.argument(0), "'");
    return true;
  }
  // The value of a SET is not among the arguments, but counts as one.
  std::size_t arguments = command.count() + (command.has_value() ? 1 : 0);
  if (arguments < known->at_least || arguments > known->at_most) {
    resp::add_error(client.replies, "wrong number of arguments for '", known->name, "' command");
    return true;
  }
  return known->run(client, command);
}

}  // namespace specgen
