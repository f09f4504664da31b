// `muster report`: what became of runs, to look at and to hand on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "base/file.h"
#include "record/json_text.h"
#include "record/run_folder.h"
#include "report/compare_runs.h"
#include "report/comparison_file.h"
#include "report/html_page.h"
#include "report/plot.h"
#include "report/report_text.h"

namespace muster {
namespace {

struct ReportArguments {
  std::vector<std::string> names;
  std::string runs = "runs";
  std::string out;
  std::string format;
  std::string plots;
  bool quiet = false;
};

const std::vector<std::string>& formats() {
  static const std::vector<std::string> all{"html", "md", "csv", "json", "latex"};
  return all;
}

// What the user said, or else what the file's name ends in.
Result<std::string> format_of(const ReportArguments& arguments) {
  std::string format = arguments.format;
  if (format.empty()) {
    const std::string end = std::filesystem::path(arguments.out).extension().string();
    format = end == ".md" ? "md" : end == ".csv" ? "csv" : end == ".json" ? "json" : end == ".tex" ? "latex" : "html";
  }
  if (std::ranges::find(formats(), format) == formats().end()) {
    return usage_error("--format: '{}', want one of {}", format, fmt::join(formats(), ", "));
  }
  return format;
}

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// A comparison by its file, or by its name under --runs.
std::optional<std::filesystem::path> comparison_called(const ReportArguments& arguments, const std::string& name) {
  const std::filesystem::path runs = arguments.runs;
  for (const std::filesystem::path& file : {std::filesystem::path(name), runs / name, runs / (name + ".json")}) {
    if (is_file(file)) return file;
  }
  return std::nullopt;
}

// What is to be reported, read.
struct Subject {
  std::vector<MethodRuns> methods;
  Report report;
  std::filesystem::path page;  // where it goes if nothing else is said
};

Result<Subject> read_comparison_called(const std::filesystem::path& file) {
  MUSTER_ASSIGN(const ComparedRuns compared, read_comparison(file));
  Subject subject;
  subject.page = std::filesystem::path(file).replace_extension(".html");
  MUSTER_ASSIGN(subject.methods, read_methods(compared));
  subject.report = report_of(compared, subject.methods);
  return subject;
}

Result<Subject> read_subject(const ReportArguments& arguments) {
  if (arguments.names.size() == 1) {
    if (const auto file = comparison_called(arguments, arguments.names[0])) return read_comparison_called(*file);
  }
  std::vector<RunRecords> runs;
  Subject subject;
  for (const std::string& name : arguments.names) {
    if (comparison_called(arguments, name)) {
      return usage_error("{}: a comparison is reported by itself; leave out the others", name);
    }
    MUSTER_ASSIGN(const RunFolder folder, RunFolder::open(arguments.runs, name));
    MUSTER_ASSIGN(RunRecords run, read_run_records(folder.path()));
    const bool twice = std::ranges::any_of(runs, [&](const RunRecords& one) { return one.folder == run.folder; });
    if (!twice) runs.push_back(std::move(run));
  }
  const bool one = runs.size() == 1;
  if (one) subject.page = runs[0].folder / "report.html";
  subject.methods = by_method(std::move(runs));
  std::vector<std::string> labels;
  for (const MethodRuns& method : subject.methods) labels.push_back(method.label);
  subject.report = one ? report_of(subject.methods[0].runs[0])
                       : report_of(shown_name(fmt::format("{}", fmt::join(labels, ", "))), subject.methods);
  return subject;
}

std::string written(const Subject& subject, const std::string& format, const std::string& plots) {
  const Report& report = subject.report;
  if (format == "json") return json_text(to_json(report)) + "\n";
  if (format == "md") return to_markdown(report, plots);
  if (format == "latex") return to_latex(report, plots);
  if (format == "csv") return rounds_csv(subject.methods);
  return to_html(to_json(report));
}

Status report(const ReportArguments& arguments) {
  MUSTER_ASSIGN(const std::string format, format_of(arguments));
  MUSTER_ASSIGN(const Subject subject, read_subject(arguments));
  std::filesystem::path out = arguments.out;
  if (out.empty() && format == "html") out = subject.page;
  if (out.empty() && format == "html" && arguments.plots.empty()) {
    return usage_error("--out: needed for a report of several runs, e.g. --out report.html");
  }
  if (!arguments.plots.empty()) {
    MUSTER_ASSIGN(const std::size_t plots, write_plots(subject.report, arguments.plots));
    if (!arguments.quiet) {
      std::fprintf(stderr, "muster: %zu plots in %s, each as SVG and PNG\n", plots, arguments.plots.c_str());
    }
  }
  if (!out.empty()) {
    MUSTER_TRY(write_output(out, written(subject, format, arguments.plots)));
    fmt::print("{}\n", out.string());
  } else if (format != "html") {
    const std::string text = written(subject, format, arguments.plots);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  if (std::fflush(stdout) != 0) return failure("cannot write the result to stdout");
  return {};
}

}  // namespace

void add_report_command(Command program) {
  auto arguments = std::make_shared<ReportArguments>();
  Command command = program.add_command("report", "What became of runs, as one HTML file that opens anywhere");
  command
      .add_option("run", arguments->names,
                  "Runs: folders, or ids under --runs; or a comparison that `muster compare` left, by its name or file")
      .required();
  command.add_option(
      "--out", arguments->out,
      "File to write; default: report.html in the folder of a run, NAME.html beside a comparison, stdout "
      "for other formats than html");
  command.add_option("--format", arguments->format,
                     "html, md, csv (a line per round), json or latex (tables for booktabs); default: by the end of "
                     "--out, else html");
  command.add_option("--plots", arguments->plots, "Folder to write every chart to as SVG and PNG, for papers");
  command.add_option("--runs", arguments->runs, "Folder that holds the runs").show_default();
  command.add_flag("--quiet", arguments->quiet, "No notes on stderr");
  command.set_footer(
      "Examples:\n"
      "  muster report runs/fedavg-s1-20260101-120000\n"
      "  muster report compare-fedavg-fedgsp-0123abcd --out appendix.html --plots figures\n"
      "  muster report fedavg-s1-20260101-120000 fedavg-s2-20260101-120130 --format csv > rounds.csv\n"
      "  muster report compare-fedavg-fedgsp-0123abcd --format latex --out tables.tex\n"
      "Runs that differ in their seeds alone are one method: curves are means, with a standard deviation to both "
      "sides.\n"
      "Runs that are going on, or were interrupted, are reported as far as they are.");
  command.set_action([arguments] { return report(*arguments); });
}

}  // namespace muster
