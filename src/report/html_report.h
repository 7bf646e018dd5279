#pragma once
// report.html: a run on one page that loads nothing: no network, no fonts, no other file. Sources and evidence
// come from
// models and candidates and are never used as markup: they are JSON inside the page, with every '<' escaped, and the
// page's script inserts them as text nodes. Rows and details of candidates are created when they are shown, so
// a run may
// have thousands.

#include <string>

#include "report/run_data.h"

namespace specgen {

std::string html_report(const RunData& run);

}  // namespace specgen
