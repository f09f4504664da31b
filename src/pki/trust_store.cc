#include "pki/trust_store.h"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <mutex>
#include <optional>
#include <vector>

#include "pki/certificate.h"
#include "pki/revocations.h"

namespace muster {
namespace {

// Tells one version of a file from the next.
struct FileVersion {
  dev_t device;
  ino_t number;
  off_t size;
  std::int64_t changed_ns;
  bool operator==(const FileVersion&) const = default;
};

std::optional<FileVersion> version_of(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileVersion{found.st_dev, found.st_ino, found.st_size,
                     std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

// The error of a chain that does not hold, in words. `issuer`: it is the authority's certificate that is at fault.
std::string refusal(int error, bool issuer, const std::string& not_before, const std::string& not_after) {
  const std::string prefix = issuer ? "cannot be checked: the authority's own certificate " : "";
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("{}expired on {}", prefix, not_after);
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format("{}is not valid before {}", prefix, not_before);
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "is self-signed, want one of the deployment's authority";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_AKID_SKID_MISMATCH:
      return "was signed by another authority";
    default:
      return fmt::format("{}is refused: {}", prefix, X509_verify_cert_error_string(error));
  }
}

std::string shown_date(const ASN1_TIME* time) {
  const Result<sys_seconds> date = time_of(time);
  return date ? date_text(*date) : "an unknown date";
}

Status check_chain(X509& certificate, X509_STORE& store, sys_seconds now, const std::string& who) {
  const StoreContextHandle context(X509_STORE_CTX_new());
  if (!context || X509_STORE_CTX_init(context.get(), &store, &certificate, nullptr) != 1) {
    return openssl_failure("check a certificate");
  }
  X509_VERIFY_PARAM* const parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(parameters, now.time_since_epoch().count());
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_X509_STRICT);
  if (X509_verify_cert(context.get()) == 1) return {};
  const bool issuer = X509_STORE_CTX_get_error_depth(context.get()) > 0;
  const X509* const at_fault = X509_STORE_CTX_get_current_cert(context.get());
  return failure("{} {}", who,
                 refusal(X509_STORE_CTX_get_error(context.get()), issuer,
                         at_fault ? shown_date(X509_get0_notBefore(at_fault)) : "its time",
                         at_fault ? shown_date(X509_get0_notAfter(at_fault)) : "an unknown date"));
}

// A certificate may be used for what its role does: the cloud is called, clients call, edges do both.
Status check_usage(X509& certificate, Role role, const std::string& who) {
  const std::uint32_t needed =
      (role != Role::kClient ? XKU_SSL_SERVER : 0) | (role != Role::kCloud ? XKU_SSL_CLIENT : 0);
  const bool fits = (X509_get_extension_flags(&certificate) & EXFLAG_XKUSAGE) != 0 &&
                    (X509_get_extended_key_usage(&certificate) & (XKU_SSL_SERVER | XKU_SSL_CLIENT)) == needed &&
                    (X509_get_key_usage(&certificate) & KU_DIGITAL_SIGNATURE) != 0;
  if (fits) return {};
  return failure("{} is not made for what its role does", who);
}

std::string certificate_of(const Identity& identity) {
  return "certificate of " + identity.shown();
}

}  // namespace

struct TrustStore::State {
  std::filesystem::path list_path;
  CertificateHandle authority;
  StoreHandle store;

  mutable std::mutex mutex;  // of what follows
  std::optional<FileVersion> version;
  std::shared_ptr<const Revocations> revocations;

  [[nodiscard]] std::shared_ptr<const Revocations> present() const {
    const std::lock_guard lock(mutex);
    return revocations;
  }
};

TrustStore::TrustStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
TrustStore::~TrustStore() = default;
TrustStore::TrustStore(TrustStore&& other) noexcept = default;
TrustStore& TrustStore::operator=(TrustStore&& other) noexcept = default;

Result<TrustStore> TrustStore::load(const std::filesystem::path& folder) {
  const ErrorQueueMark mark;
  const std::filesystem::path authority_path = folder / "ca.crt";
  auto state = std::make_unique<State>();
  state->list_path = folder / "ca.crl";
  MUSTER_ASSIGN(state->authority, read_certificate(authority_path));
  if (X509_check_ca(state->authority.get()) != 1) {
    return failure("{}: is not the certificate of an authority", authority_path.string());
  }
  state->store.reset(X509_STORE_new());
  if (!state->store || X509_STORE_add_cert(state->store.get(), state->authority.get()) != 1) {
    return openssl_failure("keep the authority's certificate");
  }
  state->version = version_of(state->list_path);
  MUSTER_ASSIGN(Revocations revocations, read_revocations(state->list_path, *state->authority));
  state->revocations = std::make_shared<const Revocations>(std::move(revocations));
  return TrustStore(std::move(state));
}

Result<bool> TrustStore::reload_if_changed() {
  const std::lock_guard lock(state_->mutex);
  const std::optional<FileVersion> version = version_of(state_->list_path);
  if (version == state_->version) return false;
  state_->version = version;
  MUSTER_ASSIGN(Revocations revocations, read_revocations(state_->list_path, *state_->authority));
  if (revocations.number < state_->revocations->number) {
    return failure("{}: is list {}, older than list {}", state_->list_path.string(),
                   revocations.number, state_->revocations->number);
  }
  state_->revocations = std::make_shared<const Revocations>(std::move(revocations));
  return true;
}

Status TrustStore::check_still_valid(const Identity& identity, sys_seconds now) const {
  const std::shared_ptr<const Revocations> revocations = state_->present();
  if (const auto found = revocations->by_serial.find(identity.serial); found != revocations->by_serial.end()) {
    return failure("{} was revoked on {}", certificate_of(identity), date_text(found->second));
  }
  if (now >= identity.not_after) {
    return failure("{} expired on {}", certificate_of(identity), date_text(identity.not_after));
  }
  return {};
}

Result<Identity> verify_peer(std::string_view pem, const TrustStore& trust, sys_seconds now) {
  const ErrorQueueMark mark;
  Result<CertificateHandle> parsed = parse_certificate(pem);
  if (!parsed) return std::move(parsed).error().within("certificate");
  X509& certificate = **parsed;
  MUSTER_ASSIGN(Identity identity, identity_of(certificate));
  const std::string who = certificate_of(identity);
  MUSTER_TRY(check_chain(certificate, *trust.state_->store, now, who));
  MUSTER_TRY(check_usage(certificate, identity.role, who));
  MUSTER_TRY(trust.check_still_valid(identity, now));
  return identity;
}

Status check_role(const Identity& identity, std::span<const Role> accepted) {
  std::vector<std::string_view> names;
  for (const Role role : accepted) {
    if (identity.role == role) return {};
    names.push_back(role_name(role));
  }
  return failure("{} is of the wrong role, want {}", certificate_of(identity), fmt::join(names, " or "));
}

}  // namespace muster
