// Histories that somebody else wrote: a file of any bytes, or a sound one of which some bytes are others. It
// is read or refused in one line, within bounded work.
#include "history/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "history/keep.h"
#include "history/read.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace ringtrue;
using namespace ringtrue::history;

// One a process; removed when it ends in good order.
struct Folder {
  Folder() {
    char name[] = "/tmp/ringtrue-fuzz-XXXXXX";
    expect(mkdtemp(name) != nullptr);
    file = std::string(name) + "/history.db";
    {
      auto store = Store::open(file, {.write = true, .journal = Journal::rollback});
      expect(store.has_value());
      Record record;
      record.session.fleet = "fleet";
      record.session.version = "1";
      record.session.fingerprint = "tcp";
      for (const char* const node : {"a", "b"})
        record.readings.push_back({{SubjectType::sender, node, "", ""}, Metric::rate, 1e9, 3});
      record.findings.push_back({{SubjectType::path, "a", "b", ""}, "critical", "slow-path", 0.5, 0.9});
      record.facts.push_back({"a", "eth0", "driver", "veth"});
      record.document = "document";
      for (int i = 0; i < 3; ++i) expect(store->add(record).has_value());
    }
    const int fd = ::open(file.c_str(), O_RDONLY);
    char bytes[4096];
    for (ssize_t got; (got = read(fd, bytes, sizeof bytes)) > 0;) sound.append(bytes, std::size_t(got));
    close(fd);
  }
  ~Folder() {
    unlink(file.c_str());
    rmdir(file.substr(0, file.rfind('/')).c_str());
  }
  std::string file, sound;
};

void one_line(const Error& error) {
  expect(!error.text().empty() && error.text().find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Folder folder;
  if (size == 0) return 0;
  std::string bytes;
  if (data[0] % 4 == 0) {
    bytes.assign(reinterpret_cast<const char*>(data) + 1, size - 1);
  } else {  // where, three bytes, and what, one
    bytes = folder.sound;
    for (std::size_t at = 1; at + 4 <= size; at += 4)
      bytes[(data[at] << 16 | data[at + 1] << 8 | data[at + 2]) % bytes.size()] = char(data[at + 3]);
  }
  const int fd = ::open(folder.file.c_str(), O_WRONLY | O_TRUNC);
  expect(write(fd, bytes.data(), bytes.size()) == ssize_t(bytes.size()));
  close(fd);
  const auto store = Store::open(folder.file, {.bound = 2'000'000});
  if (!store) return one_line(store.error()), 0;
  const auto all = sessions(*store, {});
  if (!all) return one_line(all.error()), 0;
  (void)readings(*store, 1);
  (void)findings(*store, 2);
  (void)facts(*store, 1);
  (void)document(*store, 3);
  (void)series(*store, {SubjectType::sender, "a", "", ""}, Metric::rate, {});
  (void)days(*store, "fleet", {SubjectType::sender, "a", "", ""}, Metric::rate);
  (void)side_readings(*store, {});
  (void)baselines(*store, "");
  (void)regressions(*store, "", false);
  (void)events(*store, "");
  (void)subjects(*store, "fleet");
  (void)verify(*store);
  return 0;
}
