#pragma once
// What both backends refuse in a source: reading files other than by an allowed #include, assembler that leaves the
// function, and attributes that run code outside of calls.

#include <functional>
#include <string>
#include <string_view>

#include "evaluate/candidate/rejection.h"
#include "evaluate/candidate/source_text.h"

namespace specgen {

struct SourceRules {
  std::function<bool(std::string_view header)> may_include;
  std::function<std::string(std::string_view header)> instead;  // advice to append, or nothing
  bool machine_assembler = true;  // asm has host instructions; else PTX
};

Accepted<void> check_source(const SourceText& source, const SourceRules& rules);

}  // namespace specgen
