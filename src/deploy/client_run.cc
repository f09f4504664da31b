#include "deploy/client_run.h"

#include <algorithm>
#include <mutex>

#include "base/isa.h"
#include "data/agreement.h"
#include "deploy/client_workplace.h"
#include "deploy/deployed_members.h"
#include "engine/noise_record.h"
#include "recipe/choices.h"
#include "recipe/requirement.h"
#include "wire/wire_sheet.h"

namespace muster {
namespace {

// A run's name comes from the cloud, and is that of a folder here.
bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos && told_text(name) == name;
}

}  // namespace

void use_kernels(const std::string& wanted, const SayNote& say) {
  if (name(current_isa()) == wanted) return;
  for (const Isa isa : available_isas()) {
    if (name(isa) != wanted) continue;
    use_isa(isa);
    return;
  }
  if (say)
    say({.line =
             fmt::format("this processor has no {}, which the cloud uses: results differ in their last bits", wanted)});
}

namespace {

Status meet_all(const Recipe& recipe, const std::vector<std::string>& required) {
  for (const std::string& one : required) MUSTER_TRY(meet_requirement(recipe, one));
  return {};
}

// A process that brings a file: what it tells of it, and how it reads it once all have agreed.
class OwnFile {
 public:
  OwnFile(std::string name, std::filesystem::path path, std::vector<std::string> require)
      : name_(std::move(name)), path_(std::move(path)), require_(std::move(require)) {}

  // Called by one thread at a time.
  Result<v1::Hello> tell(v1::Hello hello, const v1::HowToRead& how, const SayNote& say) {
    if (told_by_ != how.recipe()) {
      MUSTER_ASSIGN(const Recipe recipe, parse_recipe(how.recipe(), "the cloud's recipe"));
      MUSTER_TRY(meet_all(recipe, require_));
      DataOptions options = recipe.data;
      options.path = path_.string();
      MUSTER_ASSIGN(const DataSheet sheet, read_data_sheet(options));
      sheet_.Clear();
      put(recipe.training.secure.hides_samples() ? without_counts(sheet) : sheet, sheet_);
      MUSTER_TRY(check_sheet_size(sheet_));
      told_by_ = how.recipe();
      if (say) {
        say({.line = fmt::format("{}: {} training rows, {} test rows, {} labels; waiting for the run to begin",
                                 path_.string(), sheet.rows, sheet.test_rows, sheet.labels.size()),
             .client = name_,
             .clients = 1});
      }
    }
    *hello.mutable_clients(0)->mutable_data() = sheet_;
    return hello;
  }

  Result<std::unique_ptr<FederatedData>> read(const Recipe& recipe, const v1::Welcome& welcome) const {
    if (welcome.clients_size() != 1) return failure("the cloud knows {} clients here, want 1", welcome.clients_size());
    if (!recipe.data.clients) return failure("the cloud's recipe does not say how many clients there are");
    MUSTER_ASSIGN(const Preparation agreed, parse_preparation(welcome.preparation()));
    DataOptions options = recipe.data;
    options.path = path_.string();
    return make_own_data(options, agreed,
                         {.client = {welcome.clients(0)}, .clients = *recipe.data.clients, .name = name_},
                         recipe.data_seed.value_or(recipe.seed));
  }

 private:
  const std::string name_;
  const std::filesystem::path path_;
  const std::vector<std::string> require_;
  std::string told_by_;
  v1::DataSheet sheet_;
};

// The key of this process's noise: in its folder, for all of its runs, or in memory.
Result<std::shared_ptr<const NoiseKey>> noise_key(const std::filesystem::path& state) {
  if (!state.empty()) {
    MUSTER_TRY(make_folder(state));
    return keep_noise_key(state, {}, true);
  }
  prepare_cryptography();
  return std::make_shared<const NoiseKey>(NoiseKey{SystemKeys().key()});
}

// Who take part in the secure sums of a run, if it has any, and what clients' noise comes from, if they add any.
Result<MemberSecrets> sum_secrets(const Recipe& recipe, const ClientSecrecy& secrecy, const Security& security,
                                  const std::filesystem::path& state, const std::filesystem::path& states,
                                  std::shared_ptr<RememberedSums> remembered) {
  MemberSecrets secrets;
  if (clients_add_noise(recipe)) {
    MUSTER_ASSIGN(secrets.noise, noise_key(state));
  }
  if (!sums_securely(recipe)) return secrets;
  MUSTER_ASSIGN(SignerOf signer, make_member_signer(security, recipe.seed));
  if (secrecy.say && !security.trust) {
    secrecy.say(
        {.line =
             "WARNING: without certificates nobody knows who is in a secure sum: its server could read every update"});
  }
  if (secrecy.say && states.empty()) {
    secrecy.say(
        {.line = "WARNING: without --state a client that is started again cannot tell that a secure sum is replayed"});
  }
  secrets.members = make_deployed_members({.run = secrecy.run,
                                           .secure = recipe.training.secure,
                                           .rounds = recipe.rounds,
                                           .group_rounds = recipe.training.group_rounds,
                                           .name = secrecy.name,
                                           .signer = std::move(signer),
                                           .verifier = secrecy.verifier,
                                           .states = states,
                                           .remembered = std::move(remembered),
                                           .say = secrecy.say});
  return secrets;
}

// The run that a process is part of.
struct PresentRun {
  v1::Welcome welcome;
  std::shared_ptr<Workplace> workplace;
  std::shared_ptr<RememberedSums> sums = std::make_shared<RememberedSums>();  // of all runs
  std::mutex mutex;  // of all: connections of one process have one workplace

  // `own`: the data are those of one client, by its number.
  [[nodiscard]] bool is(const v1::Welcome& other, bool own) const {
    if (!workplace || welcome.run() != other.run() || welcome.recipe() != other.recipe()) return false;
    return !own ||
           (welcome.preparation() == other.preparation() && std::ranges::equal(welcome.clients(), other.clients()));
  }
};

}  // namespace

Answerer::Options client_answers(const ClientRunOptions& options) {
  Answerer::Options answers{.threads = options.threads, .limits = kDialerLimits, .say = options.say};
  answers.hello.set_version(1);
  answers.hello.set_program("muster");
  for (const ClientRange& range : options.clients) {
    for (std::uint64_t client = range.first; client <= range.last; ++client) {
      answers.hello.add_clients()->set_simulated(static_cast<std::uint32_t>(client));
    }
  }
  std::shared_ptr<OwnFile> own;
  if (!options.data.empty()) {
    own = std::make_shared<OwnFile>(options.name, options.data, options.require);
    answers.hello.clear_clients();
    answers.hello.add_clients()->set_name(options.name);
    answers.tell = [own, hello = answers.hello, say = options.say](const v1::HowToRead& how) {
      return own->tell(hello, how, say);
    };
  }
  answers.begin = [own, present = std::make_shared<PresentRun>(), threads = options.threads, state = options.state,
                   security = options.security, name = options.name, total = answers.hello.clients_size(),
                   require = options.require,
                   say = options.say](const v1::Welcome& welcome) -> Result<std::shared_ptr<Workplace>> {
    const std::lock_guard lock(present->mutex);
    if (present->is(welcome, own != nullptr)) return present->workplace;
    if (!is_file_name(welcome.run())) return failure("the cloud's run is called {}", told_text(welcome.run()));
    use_kernels(welcome.kernels(), say);
    MUSTER_ASSIGN(const Recipe recipe, parse_recipe(welcome.recipe(), "the cloud's recipe"));
    MUSTER_TRY(check_recipe(recipe));
    MUSTER_TRY(meet_all(recipe, require));
    if (is_external(recipe.model)) {
      return failure(
          "model.name = \"{}\": its clients bring a program that trains it, which `muster client` is not "
          "(examples/python_client)",
          recipe.model.name);
    }
    std::shared_ptr<const FederatedData> data;
    if (own) {
      MUSTER_ASSIGN(data, own->read(recipe, welcome));
    } else {
      MUSTER_ASSIGN(data, make_federated_data(recipe.data, recipe.data_seed.value_or(recipe.seed)));
    }
    const std::filesystem::path states = state.empty() ? state : state / welcome.run();
    ClientSecrecy secrecy{.run = welcome.run(),
                          .name = own ? name : "",
                          .signer = {},
                          .verifier = make_member_verifier(security, recipe.seed),
                          .say = say};
    if (relays_sealed(recipe)) {
      MUSTER_ASSIGN(secrecy.signer, make_member_signer(security, recipe.seed));
    }
    if (relays_sealed(recipe) && !security.trust && say) {
      say({.line =
               "WARNING: without certificates nobody vouches for the keys that models are sealed with: whoever hosts "
               "a chain could read them"});
    }
    MUSTER_ASSIGN(secrecy.sums, sum_secrets(recipe, secrecy, security, state, states, present->sums));
    MUSTER_ASSIGN(present->workplace,
                  make_client_workplace(recipe, std::move(data), threads, states, std::move(secrecy)));
    present->welcome = welcome;
    if (say) {
      say({.line = own ? fmt::format("part of run {}, as client {}", welcome.run(), welcome.clients(0))
                       : fmt::format("part of run {}, {} clients", welcome.run(), total),
           .client = own ? fmt::format("client {}", welcome.clients(0)) : "",
           .clients = static_cast<std::size_t>(total)});
    }
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
