#pragma once
// The settings file, specgen.toml: --config FILE, else the working folder's, else the user's own
// (~/.config/specgen, or where XDG_CONFIG_HOME says). The first that exists is read, strictly: an
// unknown key is an error with its line. No file is no error.
//
//   [tools]
//   compiler = "clang++-19"      # programs to use instead of those found
//   python = "venv/bin/python"
//   ncu = "/opt/nvidia/nsight-compute/2025.3.1/ncu"
//   [runs]
//   folder = "specgen-runs"      # where runs are kept
//   min_free = "2GiB"            # doctor warns when its disk has less
//   [speculation]                # which triggers become forks (docs/reference/speculation.md)
//   gap_tokens = 512
//   [evolution]                  # the population of --workflow alphaevolve (docs/reference/search.md)
//   islands = 5
//   [models.glm]                 # a model for --model glm (docs/guide/model-servers.md)
//   url = "https://api.z.ai/api/paas/v4"
//   model = "glm-5.1"            # what the server calls it
//   profile = "zai"
//   key_env = "ZAI_API_KEY"      # or key_file = "FILE" of mode 0600
//   prices = {prompt = 0.6, cached = 0.11, completion = 2.2}   # US dollars per million tokens

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "evaluate/host/host.h"
#include "generate/open_model.h"
#include "search/workflows/map_elites.h"
#include "speculate/speculation_settings.h"

namespace specgen {

struct Settings {
  std::filesystem::path source;  // empty if there was no file
  std::string compiler;          // empty: the first that works
  std::string python = "python3";
  std::string ncu = "ncu";
  std::filesystem::path runs_folder = "specgen-runs";
  Bytes min_free = GiB(2);
  std::vector<NamedModel> models = {};
  SpeculationSettings speculation = {};
  EvolutionSettings evolution = {};
};

Result<Settings> load_settings(const std::optional<std::filesystem::path>& asked_for);
Result<Settings> parse_settings(std::string_view text, std::string name);

// ~/.config/specgen, or where XDG_CONFIG_HOME says; empty without a home folder.
std::filesystem::path config_folder();

HostProbe host_probe(const Settings& settings);

}  // namespace specgen
