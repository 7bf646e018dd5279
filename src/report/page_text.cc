#include "report/page_text.h"

#include "base/assert.h"
#include "base/text.h"

namespace specgen {

std::string fill_template(std::string_view text, const TemplateValues& values) {
  std::string filled;
  while (!text.empty()) {
    std::size_t open = text.find("{{");
    filled += text.substr(0, open);
    if (open == std::string_view::npos) break;
    std::size_t close = text.find("}}", open);
    SG_ASSERT(close != std::string_view::npos, "a template has an unclosed name");
    auto value = values.find(text.substr(open + 2, close - open - 2));
    SG_ASSERT(value != values.end(), "a template has a name without a value");
    filled += value->second;
    text.remove_prefix(close + 2);
  }
  return filled;
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (char c : as_utf8(std::string(text))) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        // XML allows no other control characters, not even escaped ones.
        escaped += static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return escaped;
}

}  // namespace specgen
