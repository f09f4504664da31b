#include "deploy/client_run.h"

#include <mutex>

#include "base/isa.h"
#include "deploy/client_workplace.h"

namespace muster {
namespace {

// A client is sent a few models at a time, however large.
constexpr ChunkReader::Limits kDown{
    .vector_values = std::uint64_t{1} << 34, .held_values = std::uint64_t{1} << 36, .held_vectors = 1 << 16};

// A run's name comes from the cloud, and is that of a folder here.
bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos && told_text(name) == name;
}

}  // namespace

void use_kernels(const std::string& wanted, const std::function<void(const std::string&)>& say) {
  if (name(current_isa()) == wanted) return;
  for (const Isa isa : available_isas()) {
    if (name(isa) != wanted) continue;
    use_isa(isa);
    return;
  }
  if (say)
    say(fmt::format("this processor has no {}, which the cloud uses: results differ in their last bits", wanted));
}

Answerer::Options client_answers(const ClientRunOptions& options) {
  struct Present {
    std::string run;
    std::string recipe;
    std::shared_ptr<Workplace> workplace;
    std::mutex mutex;  // of all: connections of one process have one workplace
  };
  Answerer::Options answers{.threads = options.threads, .limits = kDown, .say = options.say};
  answers.hello.set_version(1);
  answers.hello.set_program("muster");
  for (const ClientRange& range : options.clients) {
    for (std::uint64_t client = range.first; client <= range.last; ++client) {
      answers.hello.add_clients()->set_simulated(static_cast<std::uint32_t>(client));
    }
  }
  answers.begin = [present = std::make_shared<Present>(), threads = options.threads, state = options.state,
                   total = answers.hello.clients_size(),
                   say = options.say](const v1::Welcome& welcome) -> Result<std::shared_ptr<Workplace>> {
    const std::lock_guard lock(present->mutex);
    if (present->workplace && present->run == welcome.run() && present->recipe == welcome.recipe()) {
      return present->workplace;
    }
    if (!is_file_name(welcome.run())) return failure("the cloud's run is called {}", told_text(welcome.run()));
    use_kernels(welcome.kernels(), say);
    MUSTER_ASSIGN(const Recipe recipe, parse_recipe(welcome.recipe(), "the cloud's recipe"));
    MUSTER_TRY(check_recipe(recipe));
    if (is_external(recipe.model)) {
      return failure(
          "model.name = \"{}\": its clients bring a program that trains it, which `muster client` is not "
          "(examples/python_client)",
          recipe.model.name);
    }
    MUSTER_ASSIGN(present->workplace,
                  make_client_workplace(recipe, threads, state.empty() ? state : state / welcome.run()));
    present->run = welcome.run();
    present->recipe = welcome.recipe();
    if (say) say(fmt::format("part of run {}, {} clients", welcome.run(), total));
    return present->workplace;
  };
  return answers;
}

Result<std::string> run_client(const ClientRunOptions& options) {
  const Answerer::Options all = client_answers(options);
  const auto clients = static_cast<std::uint64_t>(all.hello.clients_size());
  std::vector<std::unique_ptr<Answerer>> answerers;
  for (std::uint64_t c = 0; c < options.connections; ++c) {
    // Neighbours stay together.
    const auto begin = static_cast<int>(c * clients / options.connections);
    const auto end = static_cast<int>((c + 1) * clients / options.connections);
    Answerer::Options share = all;
    share.hello.clear_clients();
    for (int i = begin; i < end; ++i) *share.hello.add_clients() = all.hello.clients(i);
    answerers.push_back(std::make_unique<Answerer>(std::move(share)));
  }
  return stay_connected(answerers, {.addresses = options.to,
                                    .credentials = options.security.credentials,
                                    .patience_s = options.patience_s,
                                    .interrupt = options.interrupt,
                                    .say = options.say});
}

}  // namespace muster
