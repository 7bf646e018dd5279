#include "report/fill_template.h"

#include "base/assert.h"

namespace specgen {

std::string fill_template(std::string_view text, const TemplateValues& values) {
  std::string filled;
  while (!text.empty()) {
    std::size_t open = text.find("{{");
    filled += text.substr(0, open);
    if (open == std::string_view::npos) break;
    std::size_t close = text.find("}}", open);
    SG_ASSERT(close != std::string_view::npos, "a name in a template is closed");
    auto value = values.find(text.substr(open + 2, close - open - 2));
    SG_ASSERT(value != values.end(), "a template asks for a name that nobody gives");
    filled += value->second;
    text.remove_prefix(close + 2);
  }
  return filled;
}

}  // namespace specgen
