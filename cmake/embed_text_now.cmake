# Run by embed_text() at build time: writes the .cc with the texts as raw string literals.

set(code "#include <string_view>\n\nnamespace specgen {\n\n")
foreach(file name IN ZIP_LISTS files names)
  file(READ ${file} text)
  string(APPEND code
    "std::string_view embedded_${name}();\n"
    "std::string_view embedded_${name}() {\n"
    "  return R\"embedded(${text})embedded\";\n"
    "}\n\n")
endforeach()
string(APPEND code "}  // namespace specgen\n")
file(WRITE ${generated} "${code}")
