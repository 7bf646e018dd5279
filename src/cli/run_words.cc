#include "cli/run_words.h"

#include <CLI/CLI.hpp>

namespace specgen {

void RunWords::add_to(CLI::App& app) {
  report_app_ =
      app.add_subcommand("report",
                         "show a run: summary on standard output, everything in report.html\n\n"
                         "The page needs no network. A run that is going on cannot be read; its "
                         "progress is on its own\n"
                         "screen.");
  report_app_->add_option("RUN", report_.run, "the run's folder")->required();
  report_app_
      ->add_option("--html", report_.html, "where to write the page (default RUN/report.html)")
      ->type_name("FILE");
  report_app_->add_flag("--json", report_.json, "print one JSON document (schema specgen.report)")
      ->disable_flag_override();

  list_app_ = app.add_subcommand("runs",
                                 "list runs: ended, interrupted (resumable) or running\n\n"
                                 "Without DIR: the folder of specgen.toml, else specgen-runs.");
  list_app_->add_option("DIR", list_.folder, "where to look");
  list_app_
      ->add_flag(
          "--clean", list_.clean,
          "remove runs that have ended without any result; nothing else, and never one that is "
          "running")
      ->disable_flag_override();
  list_app_->add_flag("--json", list_.json, "print one JSON document (schema specgen.runs)")
      ->disable_flag_override();

  verify_app_ = app.add_subcommand("verify",
                                   "judge the winner of a run again, from scratch\n\n"
                                   "With fresh hidden cases and data. Exit code 0 only if it is ok "
                                   "and not slower than recorded,\n"
                                   "beyond noise.");
  verify_app_->add_option("RUN", verify_.run, "the run's folder")->required();
  verify_app_->add_option("--task", verify_.task, "which task's winner, if the run has several")
      ->type_name("NAME");
  verify_app_->add_option("--device", verify_.device, "where to judge it (default: where it was)")
      ->type_name("D");
  verify_app_
      ->add_flag("--json", verify_.json, "print one JSON document (schema specgen.verification)")
      ->disable_flag_override();

  export_app_ =
      app.add_subcommand("export",
                         "write the winner of a run as a drop-in: launcher, test, benchmark\n\n"
                         "cpp: a C function on threads; cuda: the same on a stream; torch: a "
                         "PyTorch extension. The folder\n"
                         "needs nothing of specgen.");
  export_app_->add_option("RUN", export_.run, "the run's folder")->required();
  export_app_->add_option("--as", export_.as, "torch, cuda or cpp")->type_name("FORM")->required();
  export_app_->add_option("--task", export_.task, "which task's winner, if the run has several")
      ->type_name("NAME");
  export_app_->add_option("--out", export_.out, "a folder to make (default: TASK-FORM)")
      ->type_name("DIR");
}

std::optional<Invocation> RunWords::chosen() const {
  if (report_app_->parsed()) return Invocation{.config = {}, .what = report_};
  if (list_app_->parsed()) return Invocation{.config = {}, .what = list_};
  if (verify_app_->parsed()) return Invocation{.config = {}, .what = verify_};
  if (export_app_->parsed()) return Invocation{.config = {}, .what = export_};
  return std::nullopt;
}

}  // namespace specgen
