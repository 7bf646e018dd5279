#pragma once
// report.html: a run on one page that needs nothing else, no network, no fonts, no other file. Sources and evidence
// come from models and candidates and are shown as text, never as markup: they travel as JSON inside the page, with
// every '<' escaped, and the page's script puts them in as text nodes. Thousands of candidates: rows and details are
// made when they are looked at.

#include <string>

#include "report/run_data.h"

namespace specgen {

std::string html_report(const RunData& run);

}  // namespace specgen
