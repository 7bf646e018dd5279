#include "kvcache/kv_metrics.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <map>

#include "kvcache/resp_replies.h"

namespace specgen {
namespace {

constexpr std::array<std::string_view, 8> kLosses{"evicted",    "reclaimed", "quota",   "no_room",
                                                  "task_ended", "deleted",   "damaged", "expired"};

class Page {
 public:
  void describe(std::string_view name, std::string_view kind, std::string_view help) {
    fmt::format_to(out(), "# HELP specgen_kv_{} {}\n# TYPE specgen_kv_{} {}\n", name, help, name,
                   kind);
  }
  template <class Number>
  void add(std::string_view name, Number value, std::string_view labels = {}) {
    fmt::format_to(out(), "specgen_kv_{}{} {}\n", name, labels, value);
  }
  void counter(std::string_view name, std::uint64_t value, std::string_view help) {
    describe(name, "counter", help);
    add(name, value);
  }
  void gauge(std::string_view name, std::uint64_t value, std::string_view help) {
    describe(name, "gauge", help);
    add(name, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::back_insert_iterator<std::string> out() { return std::back_inserter(text_); }
  std::string text_;
};

void add_values(Page& page, const KvStore& store) {
  const KvCounters& counted = store.counters();
  page.counter("hits_total", counted.hits, "Requested values that were sent.");
  page.describe("misses_total", "counter", "Requested values that were not sent.");
  page.add("misses_total", counted.misses.load(), R"({reason="absent"})");
  page.add("misses_total", counted.slower_than_computing.load(),
           R"({reason="slower_than_computing"})");
  page.add("misses_total", counted.quiet_misses.load(), R"({reason="device_is_timing"})");
  page.counter("sets_total", counted.sets, "Values received to be stored.");
  page.counter("repeated_sets_total", counted.repeated_sets,
               "Of them, those that existed already.");
  page.counter("received_bytes_total", counted.bytes_in, "Bytes of values received.");
  page.counter("sent_bytes_total", counted.bytes_out, "Bytes of values sent.");
  page.describe("lost_total", "counter", "Values that were dropped or not stored, by reason.");
  for (std::size_t i = 0; i < kLosses.size(); ++i) {
    page.add("lost_total", counted.lost[i].load(), fmt::format(R"({{reason="{}"}})", kLosses[i]));
  }
  page.counter("alarms_total", counted.alarms, "Checksum mismatches: bad memory.");
  page.counter("cut_off_total", counted.cut_off,
               "Readers whose value was reclaimed while the drain was full.");
  page.gauge("keys", store.size(), "Stored values.");
  page.gauge("lent_bytes", store.capacity().count, "Memory that may be used now.");
  page.gauge("used_bytes", store.used().count, "Memory used by values.");
  page.gauge("ready_bytes", store.ready().count, "Free memory that is faulted in.");
}

void add_devices(Page& page, const KvService& service) {
  auto label = [](int device) { return fmt::format(R"({{device="{}"}})", device); };
  page.describe("device_lent_bytes", "gauge", "Memory of a GPU that may be used now.");
  for (int device : service.devices) {
    page.add("device_lent_bytes", service.store.shared_by(device).count, label(device));
  }
  page.describe("device_used_bytes", "gauge", "Memory of a GPU used by values.");
  for (int device : service.devices) {
    page.add("device_used_bytes", service.store.used_on(device).count, label(device));
  }
}

void add_reclaims(Page& page, const KvReclaim& reclaim) {
  constexpr double kMillisecond = 1e-3;
  constexpr std::string_view kName = "reclaim_seconds";
  const KvReclaim::Times times = reclaim.times();
  page.describe(kName, "histogram", "Time to give memory back.");
  std::uint64_t up_to = 0;
  for (std::size_t i = 0; i < times.counts.size(); ++i) {
    up_to += times.counts[i];
    bool is_last = i == KvReclaim::kUpperBounds.size();
    std::string bound =
        is_last ? "+Inf" : fmt::format("{}", KvReclaim::kUpperBounds[i] * kMillisecond);
    page.add("reclaim_seconds_bucket", up_to, fmt::format(R"({{le="{}"}})", bound));
  }
  page.add("reclaim_seconds_sum", times.total_seconds);
  page.add("reclaim_seconds_count", times.count);
}

void add_connections(Page& page, const KvServerCounters& counted) {
  page.gauge("connections", counted.open, "Open connections.");
  page.counter("accepted_total", counted.accepted, "Accepted connections.");
  page.counter("commands_total", counted.commands, "Executed commands.");
  page.counter("wrong_passwords_total", counted.wrong_passwords, "Wrong passwords.");
  page.describe("closed_total", "counter", "Closed connections, by reason.");
  for (std::size_t i = 0; i < kKvCloses; ++i) {
    page.add("closed_total", counted.closed[i].load(),
             fmt::format(R"({{reason="{}"}})", name_of(static_cast<KvClose>(i))));
  }
}

}  // namespace

std::string metrics_text(const KvService& service) {
  Page page;
  add_values(page, service.store);
  if (!service.devices.empty()) add_devices(page, service);
  add_reclaims(page, service.reclaim);
  add_connections(page, service.counters);
  page.describe("link_bytes_per_second", "gauge", "Rate at which values reach a client, smoothed.");
  for (const auto& [client, rate] : service.links.rates()) {
    page.add("link_bytes_per_second", rate, fmt::format(R"({{client="{}"}})", client));
  }
  if (auto line = break_even_bytes_per_s(service.rate)) {
    page.describe("break_even_bytes_per_second", "gauge",
                  "Below this a fetch is slower than computing.");
    page.add("break_even_bytes_per_second", *line);
  }
  return page.take();
}

std::string info_text(const KvService& service) {
  const KvCounters& counted = service.store.counters();
  std::uint64_t lost = 0;
  for (const auto& reason : counted.lost) lost += reason;
  return fmt::format(
      "# Server\r\nredis_version:{}\r\nredis_mode:standalone\r\nserver_name:specgen-node\r\n\r\n"
      "# Clients\r\nconnected_clients:{}\r\nmaxclients:{}\r\n\r\n"
      "# "
      "Memory\r\nused_memory:{}\r\nused_memory_human:{}\r\nmaxmemory:{}\r\nmaxmemory_human:{}"
      "\r\n\r\n"
      "# Persistence\r\nloading:0\r\n\r\n"
      "# Stats\r\ntotal_connections_received:{}\r\ntotal_commands_processed:{}\r\n"
      "keyspace_hits:{}\r\nkeyspace_misses:{}\r\nlost_values:{}\r\nalarms:{}\r\n\r\n"
      "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n"
      "# Keyspace\r\ndb0:keys={},expires=0,avg_ttl=0\r\n",
      resp::kVersion, service.counters.open.load(), service.limits.connections,
      service.store.used().count, format_bytes(service.store.used()),
      service.store.capacity().count, format_bytes(service.store.capacity()),
      service.counters.accepted.load(), service.counters.commands.load(), counted.hits.load(),
      counted.misses.load(), lost, counted.alarms.load(), service.store.size());
}

}  // namespace specgen
