# Run by embed_folder() at build time: writes the .cc with a table of the texts.

set(code "")
string(APPEND code
  "#include <array>\n#include <span>\n#include <string_view>\n#include <utility>\n\nnamespace specgen {\n\n"
  "using EmbeddedFile = std::pair<std::string_view, std::string_view>;\n"
  "std::span<const EmbeddedFile> ${function}();\n"
  "std::span<const EmbeddedFile> ${function}() {\n"
  "  static const std::array kFiles{EmbeddedFile{}")
foreach(file IN LISTS files)
  file(READ ${folder}/${file} text)
  string(APPEND code ",\n    EmbeddedFile{\"${file}\", R\"embedded(${text})embedded\"}")
endforeach()
string(APPEND code "};\n  return std::span(kFiles).subspan(1);\n}\n\n}  // namespace specgen\n")
file(WRITE ${generated} "${code}")
