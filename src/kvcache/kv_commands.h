#pragma once
// The commands of a KV node, one after another as a client sends them; what each answers is in docs/guide/kvcache.md.
//
// Engines' clients read fixed numbers of bytes and never recover from an answer of another shape: after
// authentication GET, SET, EXISTS and DEL are never answered with an error. A value that cannot be kept is dropped
// behind an OK, one that cannot be given is a nil.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kvcache/kv_service.h"
#include "kvcache/reply_queue.h"
#include "kvcache/resp_parser.h"

namespace specgen {

// A connection as commands see it. Of one thread.
struct KvClient {
  KvClient(KvService& its_service, std::shared_ptr<LinkMeter> its_link);

  KvService& service;
  std::shared_ptr<LinkMeter> link;
  ReplyQueue replies;
  std::uint64_t id;
  std::string name;
  std::string last_key;  // that was asked for: what comes next in a prompt is learned from that
  bool is_authenticated;
  bool speaks_resp3 = false;
  bool is_leaving = false;  // after what is queued has been sent
  std::size_t wrong_passwords = 0;
  // Of a SET whose bytes are coming in; nothing where they go nowhere.
  std::unique_ptr<KvStore::Writer> writing;
  // A command that takes a while: to be called on another thread, which hands its reply back.
  std::move_only_function<std::string()> slow;
  std::size_t keys_answered = 0;  // of an MGET that waits for room
};

// Before the first byte of a SET's value: where the bytes go, client.writing.
void begin_set(KvClient& client, const RespParser& command);

// Runs a whole command and queues its reply, or leaves it in client.slow. False: call again with the same command when
// there is room in the queue.
bool run_command(KvClient& client, const RespParser& command);

}  // namespace specgen
