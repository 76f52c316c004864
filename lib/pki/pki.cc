#include "pki/pki.h"

#include <fmt/ranges.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/environment.h"
#include "base/text.h"
#include "pki/safe_file.h"
#include "pki/x509.h"

namespace ringtrue::pki {
namespace {

constexpr std::int64_t day = 24 * 60 * 60;
constexpr int authority_days = 3650;
constexpr int default_days = 825;
constexpr mode_t secret_mode = 0600, public_mode = 0644;

std::string in(const std::string& dir, const std::string& name) {
  return dir + "/" + name;
}

constexpr const char* system_folder = "/etc/ringtrue/pki";

// Empty where nothing tells whose it would be.
std::string user_folder() {
  if (const std::string config = environment("XDG_CONFIG_HOME"); !config.empty())
    return config + "/ringtrue/pki";
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.config/ringtrue/pki";
}

std::string upper(std::string text) {
  for (char& c : text) c = char(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Shorter ones are names of nodes: "c99", "beef".
bool is_serial(const std::string& text) {
  return text.size() >= 16 && text.size() <= 42 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

Result<void> check_name(const std::string& name, bool for_node) {
  const auto refuse = [&](const std::string& why) {
    return fail(Cause::bad_input, "\"" + name + "\" cannot be a certificate's name: " + why, {},
                "use letters, digits, '.', '-', '_', or an address");
  };
  if (name.empty()) return refuse("it is empty");
  if (name.size() > 253) return refuse("it is longer than 253 characters");
  if (name[0] == '.' || name[0] == '-') return refuse("it begins with '" + name.substr(0, 1) + "'");
  if (is_address(name)) return {};
  for (const char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != '_')
      return refuse(std::string("it contains '") + c + "'");
  if (name == "revoked" || name == "ca.crt" || name == "ca.key")
    return refuse("the authority keeps a file of that name");
  if (for_node && name == "operator")
    return fail(Cause::bad_input, "\"operator\" is the name of the operator's own certificate", {},
                "to renew that one, add --role run");
  return {};
}

Result<void> write_bundle(const std::string& folder, const std::string& ca, const std::string& stem,
                          const KeyPair& made) {
  if (auto r = make_folder(folder); !r) return r;
  if (auto r = write_file(in(folder, "ca.crt"), ca, public_mode, Existing::replace); !r) return r;
  if (auto r = write_file(in(folder, stem + ".key"), made.key, secret_mode, Existing::replace); !r) return r;
  return write_file(in(folder, stem + ".crt"), made.certificate, public_mode, Existing::replace);
}

// Of a file with a serial at the beginning of each line.
Result<Serials> read_serials(const std::string& path) {
  if (!exists(path)) return Serials{};
  auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  Serials serials;
  std::istringstream lines(*text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string serial;
    if (!(words >> serial) || serial[0] == '#') continue;
    if (!is_serial(serial))
      return fail(Cause::bad_input, fmt::format("{}, line {}: no serial number", path, number), {},
                  "lines begin with a serial in hexadecimal digits, as ringtrue pki revoke writes them");
    serials.insert(upper(serial));
  }
  return serials;
}

// All that were ever issued for a name, whatever replaced them: any of its keys may be in wrong hands. Tells
// of the one that is there now.
Result<Serials> issued_serials(const std::string& folder, Issued& now) {
  auto serials = read_serials(in(folder, "serials"));
  if (!serials) return serials;
  for (const char* name : {"operator.crt", "node.crt"}) {
    const std::string file = in(folder, name);
    if (!exists(file)) continue;
    auto pem = read_file(file);
    if (!pem) return tl::unexpected(pem.error());
    const auto facts = read_certificate(*pem);
    if (!facts) return fail(Cause::bad_input, file + ": " + facts.error().what);
    now.name = facts->name;
    now.until = date_text(facts->not_after);
    serials->insert(facts->serial);
  }
  return serials;
}

// Before the new one takes the place of the last.
Result<void> note_serial(const std::string& folder, const std::string& certificate) {
  const auto facts = read_certificate(certificate);
  if (!facts) return tl::unexpected(facts.error());
  Issued former;
  auto serials = issued_serials(folder, former);
  if (!serials) serials = Serials{};  // damaged: what is issued now replaces it
  serials->insert(facts->serial);
  std::string text = "# Of all certificates that were issued for this name, for ringtrue pki revoke.\n";
  for (const std::string& serial : *serials) text += serial + "\n";
  return write_file(in(folder, "serials"), text, public_mode, Existing::replace);
}

Result<Issued> issue_one(const std::string& dir, const KeyPair& authority, const std::string& name,
                         std::optional<Role> role, std::int64_t until) {
  const Role granted = role.value_or(Role::node);
  Profile profile;
  profile.name = name;
  profile.unit = "role:" + std::string(key_of(granted));
  profile.server = granted == Role::node;
  profile.client = granted != Role::node;  // no daemon lets another in
  if (granted == Role::node) profile.hosts = {name};
  profile.not_before = time(nullptr) - 2 * day;
  profile.not_after = until;
  auto made = make_certificate(profile, &authority);
  if (!made) return tl::unexpected(made.error());
  const std::string folder = in(dir, name);
  const char* stem = granted == Role::node ? "node" : "operator";
  if (auto r = make_folder(folder); !r) return tl::unexpected(r.error());
  if (auto r = note_serial(folder, made->certificate); !r) return tl::unexpected(r.error());
  if (auto r = write_bundle(folder, authority.certificate, stem, *made); !r) return tl::unexpected(r.error());
  return Issued{name, folder, date_text(until)};
}

Result<KeyPair> load_authority(const std::string& dir) {
  if (!exists(in(dir, "ca.crt")) && !exists(in(dir, "ca.key")))
    return fail(Cause::bad_input, "there is no authority in " + dir, {}, "ringtrue pki init --dir " + dir);
  auto certificate = read_file(in(dir, "ca.crt"));
  if (!certificate) return tl::unexpected(certificate.error());
  auto key = read_file(in(dir, "ca.key"));
  if (!key) return tl::unexpected(key.error());
  if (is_exposed(in(dir, "ca.key")))
    return fail(Cause::bad_input, "others may read or write " + in(dir, "ca.key"), {},
                "chmod 600 " + in(dir, "ca.key") + ", or make a new authority if somebody may have read it");
  auto fits = key_fits(*certificate, *key);
  if (!fits) return fail(Cause::bad_input, "the authority in " + dir + " is damaged: " + fits.error().what);
  if (!*fits) return fail(Cause::bad_input, in(dir, "ca.key") + " does not belong to " + in(dir, "ca.crt"));
  return KeyPair{*certificate, *key};
}

Result<std::int64_t> end_of_validity(const KeyPair& authority, std::optional<int> days) {
  auto facts = read_certificate(authority.certificate);
  if (!facts) return tl::unexpected(facts.error());
  const std::int64_t now = time(nullptr);
  if (facts->not_after <= now)
    return fail(Cause::bad_input, "the authority itself expired on " + date_text(facts->not_after), {},
                "make a new one in another folder with ringtrue pki init");
  if (days && *days < 1) return fail(Cause::bad_input, "--days must be at least 1");
  if (days && *days > (facts->not_after - now) / day)
    return fail(Cause::bad_input, "the authority itself is valid only until " + date_text(facts->not_after),
                {}, "--days " + std::to_string((facts->not_after - now) / day) + " or fewer");
  return std::min(facts->not_after, now + days.value_or(default_days) * day);
}

// The checks that both kinds of credentials share.
Result<PemBundle> load_bundle(const std::string& folder, const std::string& stem, const std::string& renew) {
  struct File {
    std::string path;
    std::string text{};
  } ca{in(folder, "ca.crt")}, cert{in(folder, stem + ".crt")}, key{in(folder, stem + ".key")};
  for (File* file : {&ca, &cert, &key}) {
    auto text = read_file(file->path);
    if (!text) {
      Error error = text.error();
      if (error.next.empty()) error.next = renew;
      return tl::unexpected(std::move(error));
    }
    file->text = std::move(*text);
  }
  const auto refuse = [&](const std::string& what) { return fail(Cause::bad_input, what, {}, renew); };
  if (is_exposed(key.path))
    return fail(Cause::bad_input, "others may read or write " + key.path, {},
                "chmod 600 " + key.path + ", or make a new certificate if somebody may have read it");
  std::vector<CertificateFacts> facts;
  for (const File* file : {&ca, &cert}) {
    auto read = read_certificate(file->text);
    if (!read) return refuse(file->path + ": " + read.error().what);
    facts.push_back(std::move(*read));
  }
  auto fits = key_fits(cert.text, key.text);
  if (!fits) return refuse(key.path + ": " + fits.error().what);
  if (!*fits) return refuse(key.path + " does not belong to " + cert.path);
  auto issued = issued_by(cert.text, ca.text);
  if (!issued) return refuse(cert.path + ": " + issued.error().what);
  if (!*issued) return refuse(cert.path + " was not signed by the authority in " + ca.path);

  const std::int64_t now = time(nullptr);
  for (const auto& [path, f] : {std::pair{ca.path, facts[0]}, std::pair{cert.path, facts[1]}}) {
    if (now > f.not_after)
      return refuse(path + " expired on " + date_text(f.not_after) + " (now " + date_text(now) + ")");
    if (now < f.not_before)
      return refuse(path + " is valid only from " + date_text(f.not_before) + " (now " + date_text(now) +
                    "): this machine's clock may be wrong");
  }
  return PemBundle{ca.text, cert.text, key.text, folder};
}

}  // namespace

Result<Role> parse_role(std::string_view text) {
  if (text == "read") return Role::read;
  if (text == "run") return Role::run;
  return fail(Cause::bad_input, "unknown role \"" + std::string(text) + "\"", {}, "read or run");
}

Role role_of(const std::string& pem_or_unit) {
  std::vector<std::string> units = {pem_or_unit};
  if (pem_or_unit.find("-----BEGIN") != std::string::npos) {
    auto facts = read_certificate(pem_or_unit);
    if (!facts) return Role::none;
    units = facts->units;
  }
  std::erase_if(units, [](const std::string& unit) { return unit.rfind("role:", 0) != 0; });
  if (units.size() != 1) return Role::none;
  for (const Role role : {Role::read, Role::run, Role::node})
    if (units[0] == "role:" + std::string(key_of(role))) return role;
  return Role::none;
}

std::string without_port(const std::string& name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos || name.find(':', colon + 1) != std::string::npos) return name;
  return name.substr(0, colon);
}

Result<std::vector<Issued>> init_authority(const std::string& dir) {
  if (exists(in(dir, "ca.key")) && !exists(in(dir, "ca.crt")))
    return fail(Cause::bad_input, "the making of an authority in " + dir + " was cut short", {},
                "remove " + in(dir, "ca.key") + ", which has signed nothing, and try again");
  if (exists(in(dir, "ca.crt")) || exists(in(dir, "ca.key")))
    return fail(
        Cause::bad_input, "there is an authority in " + dir + " already", {},
        exists(in(dir, "operator/operator.crt"))
            ? "choose another folder, or use it: ringtrue pki issue --dir " + dir + " HOSTLIST"
            : "its operator lacks a certificate: ringtrue pki issue --dir " + dir + " --role run operator");
  if (auto r = make_folder(dir); !r) return tl::unexpected(r.error());

  const std::int64_t now = time(nullptr);
  Profile profile;
  // Two authorities never share a subject, or a verifier would take one for the other.
  unsigned char mark[4];
  if (getrandom(mark, sizeof mark, 0) != sizeof mark)
    return fail(Cause::internal, "no random bytes from the system");
  profile.name = fmt::format("ringtrue authority {:02x}", fmt::join(mark, ""));
  profile.authority = true;
  profile.not_before = now - 2 * day;
  profile.not_after = now + authority_days * day;
  auto made = make_certificate(profile, nullptr);
  if (!made) return tl::unexpected(made.error());
  // The key comes first and refuses to replace one: of two that start at once, one wins.
  if (auto r = write_file(in(dir, "ca.key"), made->key, secret_mode, Existing::keep); !r)
    return tl::unexpected(r.error());
  if (auto r = write_file(in(dir, "ca.crt"), made->certificate, public_mode, Existing::replace); !r)
    return tl::unexpected(r.error());
  auto issued = issue_one(dir, *made, "operator", Role::run, now + default_days * day);
  if (!issued) return tl::unexpected(issued.error());
  return std::vector<Issued>{{"authority", dir, date_text(profile.not_after)}, *issued};
}

Result<std::vector<Issued>> issue_certificates(const std::string& dir, const std::vector<std::string>& names,
                                               const IssueOptions& options) {
  if (options.role && *options.role != Role::read && *options.role != Role::run)
    return fail(Cause::bad_input, "a certificate's role is read or run");
  std::vector<std::string> wanted;
  for (const std::string& given : names) {
    const std::string host = without_port(given);
    if (auto r = check_name(host, !options.role); !r) return tl::unexpected(r.error());
    if (std::find(wanted.begin(), wanted.end(), host) == wanted.end()) wanted.push_back(host);
  }
  if (wanted.empty()) return fail(Cause::bad_input, "no name to issue a certificate for");
  auto authority = load_authority(dir);
  if (!authority) return tl::unexpected(authority.error());
  auto until = end_of_validity(*authority, options.days);
  if (!until) return tl::unexpected(until.error());

  std::vector<Issued> issued;
  for (const std::string& host : wanted) {
    auto one = issue_one(dir, *authority, host, options.role, *until);
    if (!one) return tl::unexpected(one.error());
    issued.push_back(*one);
  }
  return issued;
}

Result<Serials> load_revoked(const std::string& dir) {
  return read_serials(in(dir, "revoked"));
}

Result<std::vector<Issued>> revoke_certificates(const std::string& dir,
                                                const std::vector<std::string>& names_or_serials) {
  auto authority = load_authority(dir);
  if (!authority) return tl::unexpected(authority.error());
  auto known = load_revoked(dir);
  if (!known) return tl::unexpected(known.error());
  const std::string path = in(dir, "revoked");
  std::string text;
  if (exists(path)) {
    if (auto r = assign(text, read_file(path)); !r) return tl::unexpected(r.error());
  } else {
    text = "# Certificates that count no more. A copy beside each node's ca.crt; reload its daemon.\n";
  }
  std::vector<Issued> revoked;
  std::set<std::string> names;
  for (const std::string& given : names_or_serials) {
    if (!names.insert(without_port(given)).second) continue;
    Issued one{given, path, "unknown"};
    auto serials = issued_serials(in(dir, without_port(given)), one);
    if (!serials) return tl::unexpected(serials.error());
    if (serials->empty() && is_serial(given)) serials->insert(upper(given));
    if (serials->empty())
      return fail(
          Cause::bad_input, fmt::format("no certificate of \"{}\" in {}", given, dir), {},
          "give names as pki issue was given them, or a serial: openssl x509 -noout -serial -in FILE");
    for (const std::string& serial : *serials)
      if (known->insert(serial).second)
        text += fmt::format("{}  {}, {}\n", serial, one.name, date_text(time(nullptr)));
    revoked.push_back(std::move(one));
  }
  if (revoked.empty()) return fail(Cause::bad_input, "no name of a certificate to revoke");
  if (auto r = write_file(path, text, public_mode, Existing::replace); !r) return tl::unexpected(r.error());
  return revoked;
}

Result<Identity> identify(const std::string& certificate_pem, const std::string& authority_pem,
                          const Serials& revoked, std::int64_t now) {
  const auto facts = read_certificate(certificate_pem), authority = read_certificate(authority_pem);
  const auto ours = issued_by(certificate_pem, authority_pem);
  if (!facts || !authority || !ours) return fail(Cause::refused, "it shows no certificate");
  const std::string which = "the certificate of " + one_line(facts->name, 64);
  if (!*ours) return fail(Cause::refused, which + " is of another authority");
  if (revoked.contains(facts->serial)) return fail(Cause::refused, which + " has been revoked");
  const std::int64_t until = std::min(facts->not_after, authority->not_after);
  if (now > until) return fail(Cause::refused, which + " expired on " + date_text(until));
  if (now < facts->not_before)
    return fail(Cause::refused, which + " is valid only from " + date_text(facts->not_before));
  return Identity{role_of(certificate_pem), facts->name, until};
}

bool certificate_is_for(const std::vector<std::string>& hosts, const std::string& host) {
  const auto same = [&](const std::string& h) {
    return std::equal(h.begin(), h.end(), host.begin(), host.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  };
  return std::any_of(hosts.begin(), hosts.end(), same);
}

Result<PemBundle> load_node_credentials(const std::string& dir, const std::string& node) {
  std::string folder = dir;
  if (!exists(in(dir, "node.crt")) && !node.empty() && exists(in(dir, node))) folder = in(dir, node);
  const std::string issue = "ringtrue pki issue --dir AUTHORITY " + (node.empty() ? "NODE" : node) +
                            ", then copy the folder that it makes";
  if (!exists(dir)) return fail(Cause::bad_input, "there is no folder " + dir, {}, issue);
  if (!exists(in(folder, "node.crt")))
    return fail(Cause::bad_input, "no node.crt in " + dir + (node.empty() ? "" : " or " + in(dir, node)), {},
                issue);
  auto bundle = load_bundle(folder, "node", issue);
  if (!bundle) return bundle;
  const auto facts = read_certificate(bundle->cert);
  if (facts && !node.empty() && !certificate_is_for(facts->hosts, node))
    return fail(Cause::bad_input,
                in(folder, "node.crt") + " is for " + (facts->hosts.empty() ? facts->name : facts->hosts[0]) +
                    ", not for " + node,
                {}, "give --node that name, or issue one: " + issue);
  if (role_of(bundle->cert) != Role::node)
    return fail(Cause::bad_input, in(folder, "node.crt") + " is not a node's certificate", {}, issue);
  return bundle;
}

std::string usual_folder() {
  const std::string own = user_folder();
  return !own.empty() && exists(own) ? own : system_folder;
}

Result<PemBundle> load_operator_credentials(const std::string& dir) {
  std::string folder = dir;
  if (!exists(in(dir, "operator.crt")) && exists(in(dir, "operator"))) folder = in(dir, "operator");
  const std::string make = "ringtrue pki init --dir DIR makes one; --pki names its folder";
  // Where nobody named a folder, the user's own was looked for first.
  const std::string own = user_folder();
  const std::string first =
      dir == system_folder && !own.empty() && !exists(own) ? "there is no folder " + own : "";
  if (!exists(dir))
    return fail(Cause::bad_input,
                first.empty() ? "there is no folder " + dir : fmt::format("{}, and none {}", first, dir), {},
                make);
  if (!exists(in(folder, "operator.crt")))
    return fail(Cause::bad_input,
                fmt::format("{}no operator.crt in {} or {}", first.empty() ? "" : first + ", and ", dir,
                            in(dir, "operator")),
                {}, make);
  auto bundle =
      load_bundle(folder, "operator", "renew it: ringtrue pki issue --dir AUTHORITY NAME --role run");
  if (!bundle) return bundle;
  const Role role = role_of(bundle->cert);
  if (role != Role::read && role != Role::run)
    return fail(Cause::bad_input, in(folder, "operator.crt") + " grants neither role, read or run", {}, make);
  return bundle;
}

}  // namespace ringtrue::pki
