#pragma once
// A run as pictures: what was in progress, which device did what, how busy they were. Each is a complete SVG; thousands
// of spans and devices are summarised so that a picture stays small.

#include <string>

#include "report/svg.h"
#include "report/timeline.h"

namespace specgen {

// Requests and jobs in progress in each phase, stacked.
std::string in_flight_picture(const Timeline& timeline, SvgForm form = SvgForm::file);

// A row for each device. Beyond 64 rows the rest share the last one, as how many of them are busy.
std::string device_picture(const Timeline& timeline, SvgForm form = SvgForm::file);

// The share of the devices' time used for evaluation, and lost to work without a result.
std::string utilisation_picture(const Timeline& timeline, SvgForm form = SvgForm::file);

// All three, as panels of a page.
std::string pictures_for_page(const Timeline& timeline);

}  // namespace specgen
