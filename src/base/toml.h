#pragma once
// Strict reading of a TOML file: a key that is never requested is an error, with its line and the most
// similar known key. A getter returns its fallback if the key is missing or has the wrong type, and the
// file remembers the first mistake; finish() returns it. So code that reads a file is a list of keys:
//
//   TomlFile file = TRY(TomlFile::read("specgen.toml"));
//   settings.python = file.root().table("tools").text("python", settings.python);
//   TRY(file.finish());

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

class TomlTable {
 public:
  ~TomlTable();
  TomlTable(const TomlTable&) = delete;
  TomlTable& operator=(const TomlTable&) = delete;

  bool has(std::string_view key);
  std::string text(std::string_view key, std::string fallback = {});
  std::int64_t integer(std::string_view key, std::int64_t fallback = 0);
  double number(std::string_view key, double fallback = 0);  // also accepts an integer
  bool flag(std::string_view key, bool fallback = false);
  std::vector<std::string> texts(std::string_view key, std::vector<std::string> fallback = {});
  std::vector<std::int64_t> integers(std::string_view key, std::vector<std::int64_t> fallback = {});

  // A missing table reads as an empty one.
  TomlTable& table(std::string_view key);
  std::vector<TomlTable*> tables(std::string_view key);  // [[key]]

  // For tables whose keys are chosen by the user, such as [models.NAME]: all keys in the order of the
  // file; they count as requested.
  std::vector<std::string> names();

  // Reports a mistake in the value of a key, with its line: "task.toml:12: 'cosl' is not an axis".
  void reject(std::string_view key, std::string_view why);

 private:
  friend class TomlFile;
  struct Document;
  TomlTable(Document& document, const void* table);
  void find_unknown_keys();

  Document& document_;
  const void* table_;  // toml::table; the library's headers stay in toml.cc
  std::map<std::string, bool, std::less<>> requested_;
  std::vector<std::unique_ptr<TomlTable>> children_;
  std::map<std::string, TomlTable*, std::less<>> child_by_key_;
  std::map<std::string, std::vector<TomlTable*>, std::less<>> list_by_key_;
};

class TomlFile {
 public:
  static Result<TomlFile> read(const std::filesystem::path& path);
  static Result<TomlFile> parse(std::string_view text, std::string name);
  TomlFile(TomlFile&&) noexcept;
  ~TomlFile();

  TomlTable& root();
  Result<void> finish();  // the first mistake or unknown key, if any

 private:
  explicit TomlFile(std::unique_ptr<TomlTable::Document> document);
  std::unique_ptr<TomlTable::Document> document_;
};

}  // namespace specgen
