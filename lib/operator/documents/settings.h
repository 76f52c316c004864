// The settings in force, and the certificates that were made.
#pragma once

#include <string>
#include <vector>

namespace ringtrue::ops {

struct SettingRow {
  std::string key, value, origin;
};

struct ConfigDocument {
  std::vector<SettingRow> settings;
};

struct CertificateRow {
  std::string name, folder, until;
};

struct PkiDocument {
  std::vector<CertificateRow> certificates;
};

}  // namespace ringtrue::ops
