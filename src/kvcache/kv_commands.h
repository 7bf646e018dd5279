#pragma once
// The commands of a KV node; docs/guide/kvcache.md has their replies.
//
// The clients of LLM servers read fixed numbers of bytes and never recover from a reply of another shape: after
// authentication GET, SET, EXISTS and DEL are never answered with an error. A value that cannot be stored is dropped
// behind an OK, one that cannot be sent is a nil.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kvcache/kv_service.h"
#include "kvcache/reply_queue.h"
#include "kvcache/resp_parser.h"

namespace specgen {

// A connection, as seen by commands. Single-threaded.
struct KvClient {
  KvClient(KvService& its_service, std::shared_ptr<LinkMeter> its_link);

  KvService& service;
  std::shared_ptr<LinkMeter> link;
  ReplyQueue replies;
  std::uint64_t id;
  std::string name;
  std::string
      last_key;  // last requested key: chains of a prompt are learned from the order of requests
  bool is_authenticated;
  bool speaks_resp3 = false;
  bool is_leaving = false;  // once the queued replies are sent
  std::size_t wrong_passwords = 0;
  // The SET whose value is being received; null if the value is discarded.
  std::unique_ptr<KvStore::Writer> writing;
  // A slow command: to be called on another thread, which returns the reply.
  std::move_only_function<std::string()> slow;
  std::size_t keys_answered = 0;  // of an MGET that waits for space in the queue
};

// Called before the first byte of a SET's value: sets client.writing.
void begin_set(KvClient& client, const RespParser& command);

// Runs a complete command and queues its reply, or leaves it in client.slow. False: call again with the same command
// when the queue has space.
bool run_command(KvClient& client, const RespParser& command);

}  // namespace specgen
