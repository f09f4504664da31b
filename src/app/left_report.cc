#include "app/left_report.h"

#include <nlohmann/json.hpp>

#include "app/log_lines.h"
#include "base/file.h"
#include "report/compare_runs.h"
#include "report/html_page.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostRecordBytes = std::uintmax_t{4} << 20;
constexpr std::uintmax_t kMostComparedBytes = std::uintmax_t{32} << 20;

std::uintmax_t record_bytes(const fs::path& run) {
  std::uintmax_t bytes = 0;
  for (const char* const file : {"rounds.jsonl", "groups.jsonl", "clients.csv"}) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(run / file, error);
    if (!error) bytes += size;
  }
  return bytes;
}

// Whether the run has a page already that was made after it ended.
bool has_page(const fs::path& run) {
  std::error_code error;
  const auto page = fs::last_write_time(run / "report.html", error);
  const auto ended = error ? page : fs::last_write_time(run / "summary.json", error);
  return !error && page >= ended;
}

Status write_page(const fs::path& page, const Result<Report>& report) {
  return report ? write_derived_file(page, to_html(to_json(*report))) : Status(report.error());
}

Result<Report> report_of_run(const fs::path& run) {
  MUSTER_ASSIGN(const RunRecords records, read_run_records(run));
  return report_of(records);
}

Result<Report> report_of_comparison(const fs::path& file) {
  MUSTER_ASSIGN(const ComparedRuns compared, read_comparison(file));
  MUSTER_ASSIGN(const std::vector<MethodRuns> methods, read_methods(compared));
  return report_of(compared, methods);
}

bool tell(const fs::path& page, const Status& written, bool quiet) {
  if (!written && !quiet) {
    log_line(LogLevel::kWarning, fmt::format("no {}: {}", page.filename().string(), written.error().message));
  }
  return written.ok();
}

}  // namespace

void leave_report(const fs::path& run, bool quiet) {
  if (record_bytes(run) > kMostRecordBytes) return;
  const fs::path page = run / "report.html";
  (void)tell(page, write_page(page, report_of_run(run)), quiet);
}

bool leave_report(const fs::path& file, const ComparisonTable& table, bool quiet) {
  std::uintmax_t bytes = 0;
  for (const MethodFigures& method : table.methods) {
    for (const std::string& run : method.runs) {
      const fs::path folder = file.parent_path() / run;
      bytes += record_bytes(folder);
      if (!has_page(folder)) leave_report(folder, quiet);
    }
  }
  if (bytes > kMostComparedBytes) return false;
  const fs::path page = fs::path(file).replace_extension(".html");
  return tell(page, write_page(page, report_of_comparison(file)), quiet);
}

}  // namespace muster
