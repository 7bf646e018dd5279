#pragma once
// The grammar below the directives: names, lists, expressions, calls, and the launch line. An error here is only the
// reason; the parser (directives.h) adds the line and the directive.

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/candidate/directives.h"

namespace specgen {

template <class T>
using Understood = std::expected<T, std::string>;

bool is_name_character(char c);              // letter, digit, underscore
bool is_identifier(std::string_view text);   // name characters that do not begin with a digit
std::string excerpt(std::string_view text);  // short and printable, for messages

// Split at commas outside of parentheses and brackets, each trimmed; one empty part if there is
// nothing.
std::vector<std::string_view> split_list(std::string_view text);

// The text between the parentheses if the whole text is `name( ... )`. `name` may be empty.
std::optional<std::string_view> inside_call(std::string_view text, std::string_view name);

Understood<Expression> parse_expression(std::string_view text);
Understood<std::vector<Expression>> parse_expressions(std::string_view list);  // one or more

// kernel<template arguments><<<grid, block, shared, cluster=(x,y,z), cooperative>>>(arguments)
Understood<LaunchSpec> parse_launch(std::string_view text);

}  // namespace specgen
