#include "pki/issued_index.h"

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace muster {
namespace {

constexpr const char* kFile = "index.json";
constexpr std::uint64_t kLargestBytes = std::uint64_t{256} << 20;

using Json = nlohmann::ordered_json;

Result<std::string> text_at(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_string()) return failure("{}: want a text", key);
  return found->get<std::string>();
}

Result<sys_seconds> time_at(const Json& entry, const char* key) {
  MUSTER_ASSIGN(const std::string text, text_at(entry, key));
  Result<sys_seconds> time = parse_time(text);
  if (!time) return std::move(time).error().within(key);
  return time;
}

Result<std::string> serial_at(const Json& entry) {
  MUSTER_ASSIGN(std::string serial, text_at(entry, "serial"));
  if (serial.empty() || serial.find_first_not_of("0123456789ABCDEF") != std::string::npos) {
    return failure("serial: want upper-case hexadecimal digits");
  }
  return serial;
}

Result<IssuedCertificate> parse_entry(const Json& entry) {
  if (!entry.is_object()) return failure("want an object");
  IssuedCertificate issued;
  MUSTER_ASSIGN(const std::string role, text_at(entry, "role"));
  MUSTER_ASSIGN(issued.identity.role, parse_role(role));
  MUSTER_ASSIGN(issued.identity.name, text_at(entry, "name"));
  MUSTER_TRY(check_name(issued.identity.name));
  MUSTER_ASSIGN(issued.identity.serial, serial_at(entry));
  MUSTER_ASSIGN(issued.not_before, time_at(entry, "not_before"));
  MUSTER_ASSIGN(issued.identity.not_after, time_at(entry, "not_after"));
  if (entry.contains("clients")) {
    MUSTER_ASSIGN(const std::string clients, text_at(entry, "clients"));
    MUSTER_ASSIGN(issued.identity.clients, parse_client_ranges(clients));
  }
  if (entry.contains("revoked")) {
    MUSTER_ASSIGN(issued.revoked, time_at(entry, "revoked"));
  }
  return issued;
}

Json to_json(const IssuedCertificate& issued) {
  Json entry{{"role", role_name(issued.identity.role)},
             {"name", issued.identity.name},
             {"serial", issued.identity.serial},
             {"not_before", time_text(issued.not_before)},
             {"not_after", time_text(issued.identity.not_after)}};
  if (!issued.identity.clients.empty()) entry["clients"] = to_string(issued.identity.clients);
  if (issued.revoked) entry["revoked"] = time_text(*issued.revoked);
  return entry;
}

Result<IssuedIndex> parse_index(const std::vector<std::uint8_t>& bytes) {
  const Json root = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!root.is_object() || !root.contains("crl_number") || !root["crl_number"].is_number_unsigned() ||
      !root.contains("certificates") || !root["certificates"].is_array()) {
    return failure("broken: want crl_number and certificates as JSON");
  }
  IssuedIndex index{.crl_number = root["crl_number"].get<std::uint64_t>()};
  for (const Json& entry : root["certificates"]) {
    Result<IssuedCertificate> issued = parse_entry(entry);
    if (!issued) return failure("certificate {}: {}", index.certificates.size(), issued.error().message);
    index.certificates.push_back(std::move(*issued));
  }
  return index;
}

}  // namespace

Result<IssuedIndex> read_index(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kFile;
  MUSTER_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path, kLargestBytes));
  Result<IssuedIndex> index = parse_index(bytes);
  if (!index) return std::move(index).error().within(path.string());
  return index;
}

Status write_index(const std::filesystem::path& folder, const IssuedIndex& index) {
  Json certificates = Json::array();
  for (const IssuedCertificate& issued : index.certificates) certificates.push_back(to_json(issued));
  const Json root{{"crl_number", index.crl_number}, {"certificates", std::move(certificates)}};
  return write_file(folder / kFile, root.dump(1) + "\n");
}

}  // namespace muster
