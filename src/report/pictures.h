#pragma once
// A run as pictures: what was under way, which device did what, how busy they were. Each is an SVG that stands
// alone; thousands of spans and devices are summarised so that a picture stays small.

#include <string>

#include "report/svg.h"
#include "report/timeline.h"

namespace specgen {

// Requests and jobs under way in each phase, stacked.
std::string in_flight_picture(const Timeline& timeline, SvgForm form = SvgForm::file);

// A row for each device. Beyond 64 rows the rest share the last one, as how many of them are busy.
std::string device_picture(const Timeline& timeline, SvgForm form = SvgForm::file);

// The share of the devices' time that went into judging, and into what came to nothing.
std::string utilisation_picture(const Timeline& timeline, SvgForm form = SvgForm::file);

// All three, to be put into a page.
std::string pictures_for_page(const Timeline& timeline);

}  // namespace specgen
