#include "kvcache/kv_service.h"

namespace specgen {

std::string_view name_of(KvClose reason) {
  switch (reason) {
    case KvClose::client_left:
      return "client_left";
    case KvClose::quit:
      return "quit";
    case KvClose::malformed:
      return "malformed";
    case KvClose::half_sent:
      return "half_sent";
    case KvClose::unread:
      return "unread";
    case KvClose::not_authenticated:
      return "not_authenticated";
    case KvClose::value_gone:
      return "value_gone";
    case KvClose::too_many:
      return "too_many";
    case KvClose::server_ended:
      return "server_ended";
  }
  return "unknown";
}

bool is_same_secret(std::string_view given, std::string_view expected) {
  unsigned difference = given.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    char other = expected.empty() ? '\0' : expected[i % expected.size()];
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(other);
  }
  // Volatile, so that the compiler cannot stop early.
  volatile unsigned result = difference;
  return result == 0;
}

}  // namespace specgen
