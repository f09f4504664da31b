// The folder that certificates come from: what it writes, how it is protected, what a kill leaves.
#include "pki/authority.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "pki/certificate.h"
#include "pki/credentials.h"
#include "pki/trust_store.h"
#include "signed_certificates.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

unsigned mode_of(const fs::path& path) {
  struct stat found {};
  EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
  return found.st_mode & 07777;
}

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

class AuthorityFolder : public testing::Test {
 protected:
  AuthorityFolder() : path_(folder_ / "pki") {}

  void init(const AuthorityOptions& options = {}) const { expect_ok(make_authority(path_, options, kNow)); }
  Authority opened() const {
    Result<Authority> authority = Authority::open(path_, kNow);
    EXPECT_TRUE(authority) << authority.error().message;
    return std::move(*authority);
  }
  IssuedBundle issued(const IssueRequest& request) const {
    Result<IssuedBundle> bundle = opened().issue(request, kNow);
    EXPECT_TRUE(bundle) << bundle.error().message;
    return bundle ? *bundle : IssuedBundle{};
  }
  std::string refusal(const IssueRequest& request) const { return message_of(opened().issue(request, kNow)); }

  ScratchFolder folder_;
  fs::path path_;
};

TEST_F(AuthorityFolder, IsMadeWholeAndNotOverwritten) {
  const mode_t before = ::umask(0);
  init({.name = "clinics"});
  ::umask(before);
  EXPECT_THAT(files_in(path_), UnorderedElementsAre("ca.key", "ca.crt", "ca.crl", "index.json"));
  EXPECT_EQ(mode_of(path_), 0700u);
  EXPECT_EQ(mode_of(path_ / "ca.key"), 0600u);
  const std::string key = slurp(path_ / "ca.key");
  EXPECT_THAT(message_of(make_authority(path_, {}, kNow)), HasSubstr("exists already, and is not overwritten"));
  EXPECT_EQ(slurp(path_ / "ca.key"), key);
  EXPECT_THAT(files_in(folder_.path()), ElementsAre("pki")) << "nothing is left beside it";
  EXPECT_EQ(must(list_issued(path_)).name, "clinics");
}

TEST_F(AuthorityFolder, IsMadeWhereAnEmptyFolderIs) {
  fs::create_directory(path_);
  expect_ok(make_authority(path_.string() + "/", {}, kNow));
  EXPECT_TRUE(fs::exists(path_ / "ca.key"));
  expect_ok(make_authority(folder_ / "a/b/c", {}, kNow));
}

TEST_F(AuthorityFolder, RefusesWhatMakesNoSense) {
  EXPECT_THAT(message_of(make_authority(path_, {.name = "a b"}, kNow)), HasSubstr("name 'a b': want 1 to 64"));
  EXPECT_THAT(message_of(make_authority(path_, {.days = 0}, kNow)), HasSubstr("days: 0, want 1 to 36500"));
  EXPECT_THAT(message_of(make_authority("", {}, kNow)), HasSubstr("want the name of a folder"));
  EXPECT_THAT(message_of(Authority::open(path_, kNow)), HasSubstr("holds no authority; `muster pki init"));
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(AuthorityFolder, IssuesFoldersThatProcessesUse) {
  for (const KeyKind kind : {KeyKind::kP256, KeyKind::kEd25519}) {
    fs::remove_all(path_);
    init({.key = kind});
    const mode_t before = ::umask(0);
    const IssuedBundle bundle = issued({.role = Role::kClient, .name = "sim-0", .clients = {{0, 49}}});
    ::umask(before);
    EXPECT_EQ(bundle.folder, path_ / "client-sim-0");
    EXPECT_THAT(files_in(bundle.folder), UnorderedElementsAre("ca.crt", "ca.crl", "own.crt", "own.key"));
    EXPECT_EQ(mode_of(bundle.folder), 0700u);
    EXPECT_EQ(mode_of(bundle.folder / "own.key"), 0600u);
    const Credentials credentials = must(Credentials::load(bundle.folder, kNow));
    EXPECT_EQ(credentials.identity.shown(), "client sim-0");
    EXPECT_THAT(credentials.identity.clients, ElementsAre(ClientRange{0, 49}));
    EXPECT_EQ(credentials.identity.not_after, kNow + 365 * kDay);
    EXPECT_EQ(credentials.key.text(), slurp(bundle.folder / "own.key"));
    EXPECT_EQ(kind_of(*must(parse_key(credentials.key))), kind);
  }
}

std::vector<std::string> hosts_of(const fs::path& bundle) {
  const CertificateHandle certificate = must(read_certificate(bundle / "own.crt"));
  std::vector<std::string> accepted;
  for (const char* host : {"localhost", "cloud.example.org", "other.example.org"}) {
    if (X509_check_host(certificate.get(), host, 0, 0, nullptr) == 1) accepted.emplace_back(host);
  }
  for (const char* address : {"127.0.0.1", "::1", "10.0.0.7"}) {
    if (X509_check_ip_asc(certificate.get(), address, 0) == 1) accepted.emplace_back(address);
  }
  return accepted;
}

TEST_F(AuthorityFolder, HostsAreThisMachineUnlessNamed) {
  init();
  EXPECT_THAT(hosts_of(issued({.role = Role::kCloud, .name = "c"}).folder),
              ElementsAre("localhost", "127.0.0.1", "::1"));
  EXPECT_THAT(hosts_of(issued({.role = Role::kEdge, .name = "e", .hosts = {"cloud.example.org", "10.0.0.7"}}).folder),
              ElementsAre("cloud.example.org", "10.0.0.7"));
  EXPECT_THAT(hosts_of(issued({.role = Role::kClient, .name = "k"}).folder), ElementsAre());
  EXPECT_THAT(hosts_of(issued({.role = Role::kCloud, .name = "w", .hosts = {"*.example.org"}}).folder),
              ElementsAre("cloud.example.org", "other.example.org"));
}

TEST_F(AuthorityFolder, RefusesRequestsInPlainWords) {
  init({.days = 30});
  EXPECT_THAT(refusal({.name = "a/b"}), HasSubstr("name 'a/b': want 1 to 64"));
  EXPECT_THAT(refusal({.name = "a\nb"}), HasSubstr("name 'a\\nb'"));
  EXPECT_THAT(refusal({.name = "a", .hosts = {"h"}}), HasSubstr("nobody calls a client"));
  EXPECT_THAT(refusal({.role = Role::kEdge, .name = "a", .clients = {{0, 4}}}), HasSubstr("only for role client"));
  EXPECT_THAT(refusal({.role = Role::kEdge, .name = "a", .hosts = {"a b"}}), HasSubstr("host 'a b': want a DNS name"));
  EXPECT_THAT(refusal({.role = Role::kEdge, .name = "a", .hosts = {""}}), HasSubstr("host ''"));
  EXPECT_THAT(refusal({.name = "a", .days = 0}), HasSubstr("days: 0, want 1 to 36500"));
  EXPECT_THAT(refusal({.name = "a", .days = 31}),
              HasSubstr("days: 31, but the authority itself is valid until 2026-12-02 only"));
  EXPECT_THAT(message_of(opened().issue({.name = "a"}, kNow + 30 * kDay)),
              HasSubstr("the authority expired on 2026-12-02"));
  EXPECT_TRUE(must(list_issued(path_)).certificates.empty());
  EXPECT_EQ(must(Credentials::load(issued({.name = "a"}).folder, kNow)).identity.not_after, kNow + 30 * kDay)
      << "by default not beyond the authority";
}

TEST_F(AuthorityFolder, ANameBelongsToOneProcess) {
  init();
  const IssuedBundle first = issued({.name = "a"});
  EXPECT_THAT(refusal({.name = "a"}), HasSubstr("client a has a certificate until 2027-11-02 already"));
  EXPECT_THAT(refusal({.role = Role::kEdge, .name = "a"}), HasSubstr("a name belongs to one process"));
  EXPECT_THAT(refusal({.name = "a", .renew = true}), HasSubstr("exists already, and is not overwritten"));
  const IssuedBundle second = issued({.name = "a", .out = folder_ / "new/a", .renew = true});
  EXPECT_EQ(second.folder, folder_ / "new/a");
  EXPECT_NE(first.certificate.identity.serial, second.certificate.identity.serial);
  EXPECT_TRUE(Credentials::load(second.folder, kNow));
  EXPECT_THAT(refusal({.role = Role::kEdge, .name = "a", .renew = true}), HasSubstr("a name belongs to one process"));
  EXPECT_EQ(must(opened().revoke("a", kNow)).size(), 2u);
  issued({.role = Role::kEdge, .name = "a"});
}

TEST_F(AuthorityFolder, RevokesByNameOrSerialWhereProcessesSeeIt) {
  init();
  const IssuedBundle cloud = issued({.role = Role::kCloud, .name = "c"});
  const IssuedBundle one = issued({.name = "site-1"});
  const IssuedBundle two = issued({.name = "site-2"});
  Result<TrustStore> trust = TrustStore::load(cloud.folder);
  ASSERT_TRUE(trust) << trust.error().message;
  EXPECT_THAT(must(opened().revoke("site-1", kNow)).front().identity.shown(), "client site-1");
  EXPECT_TRUE(must(trust->reload_if_changed()));
  EXPECT_EQ(message_of(verify_peer(slurp(one.folder / "own.crt"), *trust, kNow)),
            "certificate of client site-1 was revoked on 2026-11-02");
  EXPECT_TRUE(verify_peer(slurp(two.folder / "own.crt"), *trust, kNow));
  EXPECT_THAT(message_of(Credentials::load(one.folder, kNow)),
              HasSubstr("own.crt: certificate of client site-1 was revoked"));

  std::string serial = two.certificate.identity.serial;
  std::ranges::transform(serial, serial.begin(), [](unsigned char c) { return std::tolower(c); });
  EXPECT_EQ(must(opened().revoke(serial, kNow)).size(), 1u);
  EXPECT_TRUE(must(trust->reload_if_changed()));
  EXPECT_FALSE(verify_peer(slurp(two.folder / "own.crt"), *trust, kNow));
  EXPECT_FALSE(verify_peer(slurp(one.folder / "own.crt"), *trust, kNow)) << "stays revoked";

  EXPECT_THAT(message_of(opened().revoke("site-1", kNow)),
              HasSubstr("client site-1 was revoked on 2026-11-02 already"));
  EXPECT_THAT(message_of(opened().revoke("site-3", kNow)),
              HasSubstr("no certificate has the name or serial number 'site-3' (did"));
  const IssuedBundle later = issued({.name = "site-4"});
  Result<TrustStore> fresh = TrustStore::load(later.folder);
  ASSERT_TRUE(fresh) << fresh.error().message;
  EXPECT_FALSE(verify_peer(slurp(one.folder / "own.crt"), *fresh, kNow))
      << "a new folder knows what was revoked before";
}

TEST_F(AuthorityFolder, ListsWhatItIssued) {
  init({.key = KeyKind::kEd25519});
  issued({.role = Role::kCloud, .name = "c"});
  issued({.name = "sim", .clients = {{0, 9}, {12, 12}}});
  (void)must(opened().revoke("c", kNow));
  const AuthorityListing listing = must(list_issued(path_));
  EXPECT_EQ(listing.name, "muster");
  EXPECT_EQ(listing.key, KeyKind::kEd25519);
  EXPECT_EQ(listing.not_after, kNow + 3650 * kDay);
  ASSERT_EQ(listing.certificates.size(), 2u);
  EXPECT_EQ(listing.certificates[0].revoked, kNow);
  EXPECT_EQ(listing.certificates[1].identity.shown(), "client sim");
  EXPECT_EQ(to_string(listing.certificates[1].identity.clients), "0-9,12");
  EXPECT_EQ(listing.certificates[1].not_before, kNow - std::chrono::minutes(5));
  EXPECT_FALSE(listing.certificates[1].revoked);
}

TEST_F(AuthorityFolder, BrokenFilesAreNamed) {
  init();
  const auto refused = [&] { return message_of(Authority::open(path_, kNow)); };
  const std::string index = slurp(path_ / "index.json");
  for (const char* broken : {"", "{", "[]", "{\"crl_number\": -1, \"certificates\": []}", "{\"crl_number\": 1}",
                             "{\"crl_number\": 1, \"certificates\": [3]}",
                             "{\"crl_number\": 1, \"certificates\": [{\"role\": \"client\", \"name\": \"../x\"}]}"}) {
    spit(path_ / "index.json", broken);
    EXPECT_THAT(refused(), HasSubstr("index.json: ")) << broken;
  }
  spit(path_ / "index.json", index);
  const std::string key = slurp(path_ / "ca.key");
  spit(path_ / "ca.key", must(to_pem(*must(make_key(KeyKind::kP256)))).text());
  EXPECT_THAT(refused(), HasSubstr("ca.key is not the key of ca.crt"));
  spit(path_ / "ca.key", "garbage");
  EXPECT_THAT(refused(), HasSubstr("ca.key: no private key, a broken one, or one with a password"));
  spit(path_ / "ca.key", key);
  fs::permissions(path_ / "ca.key", fs::perms(0640));
  EXPECT_THAT(refused(), HasSubstr("ca.key: mode 0640 lets others at the key, want 0600"));
}

TEST_F(AuthorityFolder, CredentialsMustBelongTogether) {
  init();
  const fs::path folder = issued({.name = "a"}).folder;
  const auto refused = [&](sys_seconds now = kNow) { return message_of(Credentials::load(folder, now)); };
  EXPECT_THAT(refused(kNow + 365 * kDay), HasSubstr("own.crt: certificate of client a expired on 2027-11-02"));
  fs::permissions(folder / "own.key", fs::perms(0604));
  EXPECT_THAT(refused(), HasSubstr((folder / "own.key").string() + ": mode 0604 lets others at the key, want 0600"));
  fs::permissions(folder / "own.key", fs::perms(0600));
  const std::string key = slurp(folder / "own.key");
  spit(folder / "own.key", must(to_pem(*must(make_key(KeyKind::kP256)))).text());
  EXPECT_THAT(refused(), HasSubstr("own.key: is not the key of "));
  spit(folder / "own.key", key.substr(0, key.size() / 2));
  EXPECT_THAT(refused(), HasSubstr("own.key: no private key"));
  fs::remove(folder / "own.key");
  EXPECT_THAT(refused(), HasSubstr("own.key: cannot read: No such file"));
  spit(folder / "own.key", key);
  fs::permissions(folder / "own.key", fs::perms(0600));
  EXPECT_TRUE(Credentials::load(folder, kNow));
  LaxAuthority().write(folder);
  EXPECT_THAT(refused(), HasSubstr("own.crt: certificate of client a was signed by another authority"));
}

TEST_F(AuthorityFolder, OneAtATime) {
  init();
  {
    const Authority held = opened();
    EXPECT_THAT(message_of(Authority::open(path_, kNow, std::chrono::milliseconds(0))),
                HasSubstr("another `muster pki` is still at work there"));
    EXPECT_TRUE(list_issued(path_)) << "reading needs no lock";
  }
  EXPECT_TRUE(Authority::open(path_, kNow, std::chrono::milliseconds(0)));
}

TEST_F(AuthorityFolder, NothingIsHandedOutThatTheIndexDoesNotHave) {
  init();
  fs::create_directory(path_ / "index.json.tmp");  // so that the index cannot be written
  EXPECT_THAT(refusal({.name = "a"}), HasSubstr("index.json: cannot write"));
  EXPECT_THAT(message_of(opened().revoke("a", kNow)), HasSubstr("no certificate has the name"));
  EXPECT_FALSE(fs::exists(path_ / "client-a"));
  fs::remove(path_ / "index.json.tmp");
  issued({.name = "a"});
}

// As if a kill had come between the index and the list.
TEST_F(AuthorityFolder, AListThatFellBehindIsWrittenAgain) {
  init();
  const IssuedBundle cloud = issued({.role = Role::kCloud, .name = "c"});
  const IssuedBundle client = issued({.name = "a"});
  const std::string old_list = slurp(path_ / "ca.crl");
  (void)must(opened().revoke("a", kNow));
  for (const std::string& left : {old_list, std::string("torn")}) {
    spit(path_ / "ca.crl", left);
    spit(cloud.folder / "ca.crl", left);
    (void)opened();
    Result<TrustStore> trust = TrustStore::load(cloud.folder);
    ASSERT_TRUE(trust) << trust.error().message;
    EXPECT_THAT(message_of(verify_peer(slurp(client.folder / "own.crt"), *trust, kNow)), HasSubstr("was revoked"));
  }
}

TEST_F(AuthorityFolder, KilledAtAnyMomentItHasIndexedWhatItHandedOut) {
  init({.key = KeyKind::kEd25519});
  for (std::uint32_t trial = 0; trial < 20; ++trial) {
    int told[2];
    ASSERT_EQ(::pipe(told), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::uint32_t i = 0;; ++i) {
        Result<Authority> authority = Authority::open(path_, kNow);
        const std::string name = fmt::format("n{}-{}", trial, i);
        if (!authority || ::write(told[1], "x", 1) != 1 || !authority->issue({.name = name}, kNow)) ::_exit(1);
        if (i % 2 == 1 && !authority->revoke(name, kNow)) ::_exit(1);
      }
    }
    ::close(told[1]);
    std::vector<char> steps(1 + trial % 3);
    for (char& step : steps) ASSERT_EQ(::read(told[0], &step, 1), 1);
    ::usleep(137 * trial);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(told[0]);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it failed by itself";

    (void)opened();
    std::set<std::string> serials;
    for (const IssuedCertificate& issued : must(list_issued(path_)).certificates)
      serials.insert(issued.identity.serial);
    for (const std::string& name : files_in(path_)) {
      EXPECT_FALSE(name.starts_with(".new-")) << "left behind: " << name;
      if (!name.starts_with("client-")) continue;
      EXPECT_THAT(files_in(path_ / name), IsSupersetOf({"ca.crt", "ca.crl", "own.crt", "own.key"}));
      EXPECT_TRUE(serials.contains(must(identity_of(slurp(path_ / name / "own.crt"))).serial)) << name;
    }
  }
}

}  // namespace
}  // namespace muster
