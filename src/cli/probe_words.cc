#include "cli/probe_words.h"

#include <CLI/CLI.hpp>

#include "cli/numbers.h"

namespace specgen {
namespace {

constexpr std::int64_t kUsualStreams = 6;
constexpr double kUsualStep = 5, kMinStep = 1, kMaxStep = 50;  // percent

}  // namespace

void ProbeWords::add_to(CLI::App& app) {
  app_ = app.add_subcommand(
      "probe",
      "how early does a prefix of a model's thinking suffice for a better kernel?\n\n"
      "Streams of thinking run to their ends; then a fork is made at every few percent of each, "
      "and "
      "all\n"
      "kernels, those in the thinking too, are judged. Told is after which share of the thinking "
      "one "
      "was\n"
      "there that beats the answers before, what stopping there would save, and what the tokens "
      "were.\n"
      "Ctrl-C ends in good order, and --resume goes on. --json has the schema specgen.probe.");
  shared_.add_to(*app_, "--streams", "of each task (default 6)");
  app_->add_option("--every", every_, "a fork at every so many percent of a stream (default 5)")
      ->type_name("PERCENT")
      ->allow_extra_args(false);
  app_->add_flag("--no-control", no_control_,
                 "no second whole generation beside each stream, to compare with")
      ->disable_flag_override();
}

std::optional<Result<Optimize>> ProbeWords::chosen() const {
  if (!app_->parsed()) return std::nullopt;
  return look();
}

Result<Optimize> ProbeWords::look() const {
  Optimize command = TRY(shared_.look({}, "--streams"));
  double percent = kUsualStep;
  if (!every_.empty()) percent = TRY(number_of<double>(every_, "--every"));
  if (percent < kMinStep || percent > kMaxStep) return must_be("--every", "between 1 and 50");
  command.study_step = percent / 100;
  command.study_control = !no_control_;
  if (!command.iterations && command.resume.empty()) command.iterations = kUsualStreams;
  return command;
}

}  // namespace specgen
