#include "pki/authority.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "base/names.h"
#include "data/shown_text.h"
#include "pki/certificate.h"
#include "pki/revocations.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr auto kClockSkew = std::chrono::minutes(5);  // that clocks of other machines may be behind by
constexpr std::uint32_t kMostDays = 36'500;
constexpr const char* kStagingPrefix = ".new-";
constexpr const char* kThisMachine[] = {"localhost", "127.0.0.1", "::1"};

std::string reason() {
  return std::strerror(errno);
}

// A folder that is filled out of sight and then put in place at once. Removed with what it holds if it never is.
class Staging {
 public:
  // Beside `target`, so that it can be renamed to it.
  [[nodiscard]] static Result<Staging> beside(const fs::path& target) {
    const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
    MUSTER_TRY(make_folder(parent));
    std::string pattern = (parent / (std::string(kStagingPrefix) + "XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) return failure("{}: cannot create: {}", pattern, reason());
    return Staging(pattern);
  }
  ~Staging() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Staging(Staging&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Staging& operator=(Staging&&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

  // Fails if there is something at `target` that is not an empty folder.
  [[nodiscard]] Status put(const fs::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) {
      return failure("{}: cannot be put in place: {}", target.string(), reason());
    }
    path_.clear();
    const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
    if (const int folder = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
      ::fsync(folder);
      ::close(folder);
    }
    return {};
  }

 private:
  explicit Staging(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// Without a slash at the end, which would hide the last part, and through links: what is renamed is the folder itself.
Result<fs::path> folder_path(const fs::path& path) {
  if (path.empty()) return usage_error("want the name of a folder");
  std::error_code error;
  fs::path whole = fs::weakly_canonical(path, error);
  if (error) return failure("{}: {}", path.string(), error.message());
  return whole;
}

Status check_absent(const fs::path& path, const char* what) {
  std::error_code error;
  const bool free = !fs::exists(path, error) || (fs::is_directory(path, error) && fs::is_empty(path, error));
  if (error) return failure("{}: {}", path.string(), error.message());
  if (free) return {};
  return failure("{}: exists already, and is not overwritten; name another folder for the {}", path.string(), what);
}

Status check_days(std::uint32_t days) {
  if (days >= 1 && days <= kMostDays) return {};
  return usage_error("days: {}, want 1 to {}", days, kMostDays);
}

struct Lock {
  int descriptor = -1;
  Lock() = default;
  explicit Lock(int opened) : descriptor(opened) {}
  ~Lock() {
    if (descriptor >= 0) ::close(descriptor);
  }
  Lock(Lock&& other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  Lock& operator=(Lock&& other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
};

// The lock goes with the process, however that ends; the file stays.
Result<Lock> lock_folder(const fs::path& folder, std::chrono::milliseconds patience) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  const fs::path path = folder / "lock";
  Lock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.descriptor < 0) return failure("{}: cannot create: {}", path.string(), reason());
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (::flock(lock.descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return failure("{}: cannot lock: {}", path.string(), reason());
    if (std::chrono::steady_clock::now() >= deadline) {
      return failure("{}: another `muster pki` is still at work there; try again when it has ended", folder.string());
    }
    std::this_thread::sleep_for(kPause);
  }
  return lock;
}

void remove_left_behind(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    std::error_code ignored;
    if (entry.path().filename().string().starts_with(kStagingPrefix)) fs::remove_all(entry.path(), ignored);
  }
}

std::map<std::string, sys_seconds> revoked_of(const IssuedIndex& index) {
  std::map<std::string, sys_seconds> revoked;
  for (const IssuedCertificate& issued : index.certificates) {
    if (issued.revoked) revoked[issued.identity.serial] = *issued.revoked;
  }
  return revoked;
}

Result<std::string> revocations_pem(const IssuedIndex& index, sys_seconds now, const Signer& signer) {
  MUSTER_ASSIGN(const CrlHandle crl, sign_crl(revoked_of(index), index.crl_number, now, signer));
  return to_pem(*crl);
}

Status check_request(const IssueRequest& request) {
  MUSTER_TRY(check_name(request.name));
  if (request.days) MUSTER_TRY(check_days(*request.days));
  if (request.role == Role::kClient && !request.hosts.empty()) {
    return usage_error("host '{}': nobody calls a client; want hosts only for role cloud or edge",
                       shown_text(request.hosts.front()));
  }
  if (request.role != Role::kClient && !request.clients.empty()) {
    return usage_error("clients {}: want them only for role client, not {}", to_string(request.clients),
                       role_name(request.role));
  }
  for (const std::string& host : request.hosts) MUSTER_TRY(check_host(host));
  return {};
}

}  // namespace

struct Authority::State {
  fs::path given;   // as the caller names the folder
  fs::path folder;  // whole
  Lock lock;
  CertificateHandle certificate;
  KeyHandle key;
  IssuedIndex index;

  [[nodiscard]] Signer signer() const { return {*certificate, *key}; }

  // Both ends of what a certificate issued now may have.
  [[nodiscard]] Result<std::pair<sys_seconds, sys_seconds>> period(const std::optional<std::uint32_t>& days,
                                                                   sys_seconds now) const {
    MUSTER_ASSIGN(const sys_seconds first, time_of(X509_get0_notBefore(certificate.get())));
    MUSTER_ASSIGN(const sys_seconds last, time_of(X509_get0_notAfter(certificate.get())));
    if (now >= last) return failure("{}: the authority expired on {}", folder.string(), date_text(last));
    const sys_seconds wanted = now + std::chrono::days(days.value_or(kCertificateDays));
    if (days && wanted > last) {
      return usage_error("days: {}, but the authority itself is valid until {} only", *days, date_text(last));
    }
    return std::pair(std::max(first, sys_seconds(now - kClockSkew)), std::min(wanted, last));
  }

  // The name is nobody's who could be mistaken for the new holder.
  [[nodiscard]] Status check_free(const IssueRequest& request, sys_seconds now) const {
    for (const IssuedCertificate& issued : index.certificates) {
      const Identity& identity = issued.identity;
      if (identity.name != request.name || issued.revoked || now >= identity.not_after) continue;
      if (request.renew && identity.role == request.role) continue;
      return failure("{} has a certificate until {} already (serial {}); revoke it first{}", identity.shown(),
                     date_text(identity.not_after), identity.serial,
                     identity.role == request.role ? ", or renew it" : ": a name belongs to one process");
    }
    return {};
  }

  [[nodiscard]] Status write_revocations(sys_seconds now) const {
    MUSTER_ASSIGN(const std::string pem, revocations_pem(index, now, signer()));
    MUSTER_TRY(write_file(folder / "ca.crl", pem));
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (fs::exists(entry.path() / "own.crt", error)) MUSTER_TRY(write_file(entry.path() / "ca.crl", pem));
    }
    return {};
  }

  // Whether a kill came between the index and the list.
  [[nodiscard]] bool list_is_behind() const {
    const Result<Revocations> written = read_revocations(folder / "ca.crl", *certificate);
    return !written || written->number < index.crl_number;
  }
};

Status make_authority(const fs::path& folder, const AuthorityOptions& options, sys_seconds now) {
  MUSTER_TRY(check_name(options.name));
  MUSTER_TRY(check_days(options.days));
  MUSTER_ASSIGN(const fs::path target, folder_path(folder));
  MUSTER_TRY(check_absent(target, "authority"));
  MUSTER_ASSIGN(const KeyHandle key, make_key(options.key));
  MUSTER_ASSIGN(const CertificateHandle certificate,
                sign_authority(options.name, *key, now - kClockSkew, now + std::chrono::days(options.days)));
  MUSTER_ASSIGN(const std::string certificate_pem, to_pem(*certificate));
  MUSTER_ASSIGN(const Secret key_pem, to_pem(*key));
  const IssuedIndex index;
  MUSTER_ASSIGN(const std::string list, revocations_pem(index, now, {*certificate, *key}));
  MUSTER_ASSIGN(Staging staging, Staging::beside(target));
  MUSTER_TRY(write_secret(staging.path() / "ca.key", key_pem));
  MUSTER_TRY(write_file(staging.path() / "ca.crt", certificate_pem));
  MUSTER_TRY(write_file(staging.path() / "ca.crl", list));
  MUSTER_TRY(write_index(staging.path(), index));
  return staging.put(target);
}

Authority::Authority(std::unique_ptr<State> state) : state_(std::move(state)) {}
Authority::~Authority() = default;
Authority::Authority(Authority&& other) noexcept = default;
Authority& Authority::operator=(Authority&& other) noexcept = default;

Result<Authority> Authority::open(const fs::path& folder, sys_seconds now, std::chrono::milliseconds patience) {
  const ErrorQueueMark mark;
  auto state = std::make_unique<State>();
  state->given = folder;
  MUSTER_ASSIGN(state->folder, folder_path(folder));
  if (std::error_code error; !fs::exists(state->folder / "ca.key", error)) {
    return failure("{}: holds no authority; `muster pki init {}` makes one", folder.string(), folder.string());
  }
  MUSTER_ASSIGN(state->lock, lock_folder(state->folder, patience));
  remove_left_behind(state->folder);
  MUSTER_ASSIGN(state->certificate, read_certificate(state->folder / "ca.crt"));
  MUSTER_ASSIGN(const Secret secret, read_secret(state->folder / "ca.key"));
  Result<KeyHandle> key = parse_key(secret);
  if (!key) return std::move(key).error().within((state->folder / "ca.key").string());
  state->key = std::move(*key);
  if (X509_check_private_key(state->certificate.get(), state->key.get()) != 1) {
    return failure("{}: ca.key is not the key of ca.crt", folder.string());
  }
  MUSTER_ASSIGN(state->index, read_index(state->folder));
  if (state->list_is_behind()) MUSTER_TRY(state->write_revocations(now));
  return Authority(std::move(state));
}

Result<IssuedBundle> Authority::issue(const IssueRequest& request, sys_seconds now) {
  const ErrorQueueMark mark;
  MUSTER_TRY(check_request(request));
  MUSTER_TRY(state_->check_free(request, now));
  const fs::path by_default = state_->given / fmt::format("{}-{}", role_name(request.role), request.name);
  const fs::path out = request.out.empty() ? by_default : request.out;
  MUSTER_ASSIGN(const fs::path target, folder_path(out));
  MUSTER_TRY(check_absent(target, "certificate"));
  MUSTER_ASSIGN(const auto period, state_->period(request.days, now));

  IssuedCertificate issued{.identity = {.role = request.role, .name = request.name, .clients = request.clients},
                           .not_before = period.first};
  CertificateContent content{.name = request.name,
                             .uris = identity_uris(issued.identity),
                             .hosts = request.hosts,
                             .server = request.role != Role::kClient,
                             .client = request.role != Role::kCloud,
                             .not_before = period.first,
                             .not_after = period.second};
  if (content.server && content.hosts.empty()) content.hosts.assign(std::begin(kThisMachine), std::end(kThisMachine));
  MUSTER_ASSIGN(const KeyHandle key, make_key(kind_of(*state_->key)));
  MUSTER_ASSIGN(const CertificateHandle certificate, sign_certificate(content, *key, state_->signer()));
  MUSTER_ASSIGN(issued.identity, identity_of(*certificate));
  MUSTER_ASSIGN(const std::string certificate_pem, to_pem(*certificate));
  MUSTER_ASSIGN(const std::string authority_pem, to_pem(*state_->certificate));
  MUSTER_ASSIGN(const std::string list, revocations_pem(state_->index, now, state_->signer()));
  MUSTER_ASSIGN(const Secret key_pem, to_pem(*key));

  MUSTER_ASSIGN(Staging staging, Staging::beside(target));
  MUSTER_TRY(write_secret(staging.path() / "own.key", key_pem));
  MUSTER_TRY(write_file(staging.path() / "own.crt", certificate_pem));
  MUSTER_TRY(write_file(staging.path() / "ca.crt", authority_pem));
  MUSTER_TRY(write_file(staging.path() / "ca.crl", list));
  // First the index: whoever holds a certificate can be told from the others and refused.
  IssuedIndex index = state_->index;
  index.certificates.push_back(issued);
  MUSTER_TRY(write_index(state_->folder, index));
  state_->index = std::move(index);
  MUSTER_TRY(staging.put(target));
  return IssuedBundle{.certificate = std::move(issued), .folder = out};
}

Result<std::vector<IssuedCertificate>> Authority::revoke(const std::string& name_or_serial, sys_seconds now) {
  const ErrorQueueMark mark;
  std::string serial = name_or_serial;
  std::ranges::transform(serial, serial.begin(), [](char c) { return c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c; });
  IssuedIndex index = state_->index;
  std::vector<IssuedCertificate> revoked;
  std::vector<std::string> names;
  const IssuedCertificate* before = nullptr;
  for (IssuedCertificate& issued : index.certificates) {
    names.push_back(issued.identity.name);
    if (issued.identity.name != name_or_serial && issued.identity.serial != serial) continue;
    if (issued.revoked) {
      before = &issued;
      continue;
    }
    issued.revoked = now;
    revoked.push_back(issued);
  }
  if (revoked.empty() && before) {
    return failure("{} was revoked on {} already", before->identity.shown(), date_text(*before->revoked));
  }
  if (revoked.empty()) {
    const std::string nearest = nearest_name(name_or_serial, names);
    return failure("no certificate has the name or serial number '{}'{}; `muster pki list` shows what there is",
                   shown_text(name_or_serial), nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest));
  }
  ++index.crl_number;
  MUSTER_TRY(write_index(state_->folder, index));
  state_->index = std::move(index);
  MUSTER_TRY(state_->write_revocations(now));
  return revoked;
}

Result<AuthorityListing> list_issued(const fs::path& folder) {
  const ErrorQueueMark mark;
  AuthorityListing listing;
  MUSTER_ASSIGN(const CertificateHandle certificate, read_certificate(folder / "ca.crt"));
  MUSTER_ASSIGN(listing.not_after, time_of(X509_get0_notAfter(certificate.get())));
  const EVP_PKEY* const key = X509_get0_pubkey(certificate.get());
  if (!key) return failure("{}: has no key that is understood", (folder / "ca.crt").string());
  listing.key = kind_of(*key);
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name.data(), name.size());
  listing.name = shown_text(name.data());
  MUSTER_ASSIGN(IssuedIndex index, read_index(folder));
  listing.certificates = std::move(index.certificates);
  return listing;
}

}  // namespace muster
