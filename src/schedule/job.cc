#include "schedule/job.h"

namespace specgen {

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::compile:
      return "compile";
    case Stage::validate:
      return "validate";
    case Stage::profile:
      return "profile";
    case Stage::evaluate:
      return "evaluate";
    case Stage::tune:
      return "tune";
  }
  SG_ASSERT(false, "a stage without a name");
}

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::main:
      return "main";
    case Origin::fork:
      return "fork";
    case Origin::harvest:
      return "harvest";
  }
  SG_ASSERT(false, "an origin without a name");
}

}  // namespace specgen
