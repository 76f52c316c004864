// Machines that are read by ringtrue-probe where something is missing, broken, hangs or sleeps: the rest is
// shown, the gap is named, and nothing is touched.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "diagnosis/findings/combine.h"
#include "tests/unit/inspect/machine.h"

namespace ringtrue::test {
namespace {

namespace fs = std::filesystem;
using diagnosis::Inspection;
using probe::LiveOptions;
using probe::Recording;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using topology::Node;

class BadPlaces : public testing::Test {
 protected:
  // By ringtrue-probe itself.
  Result<Recording> read(Seconds window = Seconds(0)) {
    machine.save();
    options.program = RINGTRUE_PROBE;
    options.root = machine.tree.root();
    return probe::read_this_machine(options, "node0", window);
  }
  // What a gap says, "" where there is none of it.
  static std::string gap(const Node& node, const std::string& source, const std::string& what) {
    for (const auto& gap : node.gaps)
      if (gap.source == source && gap.what == what) return gap.why.empty() ? "?" : gap.why;
    return "";
  }
  std::string log() const {
    std::ifstream in(machine.tree.root() + ".log");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void SetUp() override { options.deadline = Seconds(30); }
  void TearDown() override { fs::remove(machine.tree.root() + ".log"); }

  Machine machine;
  LiveOptions options;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double processor_seconds_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// ---- what a reading costs

TEST_F(BadPlaces, TheProgramReadsWhatTheLibraryReads) {
  auto program = read();
  ASSERT_TRUE(program) << program.error().text();
  const Recording here = machine.record();
  EXPECT_EQ(program->files, here.files);
  EXPECT_EQ(program->folders, here.folders);
  EXPECT_EQ(program->links, here.links);
  EXPECT_EQ(program->answers["nvml"], here.answers.at("nvml"));
  EXPECT_EQ(probe::probe(*program), probe::probe(here));
  EXPECT_THAT(blamed(inspect(*program)), IsEmpty());
}

TEST_F(BadPlaces, AReadingIsCheap) {
  const double before = processor_seconds_of_children();
  ASSERT_TRUE(read());
  EXPECT_LT(processor_seconds_of_children() - before, 1);  // others may use the processors at the same time
}

// Name, kind, size, times of change, and contents of everything in a folder.
std::map<std::string, std::string> everything_in(const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat s {};
    ::lstat(entry.path().c_str(), &s);
    all[entry.path().string()] = fmt::format("{:o} {} {}.{} {}.{}", s.st_mode, s.st_size, s.st_mtim.tv_sec,
                                             s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
  }
  return all;
}

TEST_F(BadPlaces, NothingIsWritten) {
  machine.save();
  const auto before = everything_in(machine.tree.root());
  ASSERT_GT(before.size(), 500u);
  ASSERT_TRUE(read(Seconds(0.1)));
  EXPECT_EQ(everything_in(machine.tree.root()), before);
}

TEST_F(BadPlaces, AWindowIsReadByTheProgram) {
  machine.nvml["later"] = {{{"op", "replace"}, {"path", "/gpus/1/links/4/errors/0"}, {"value", 5}}};
  const auto recording = read(Seconds(0.2));
  ASSERT_TRUE(recording) << recording.error().text();
  EXPECT_THAT(blamed(inspect(*recording)), ElementsAre("critical nvlink-errors GPU1"));
}

// ---- NVML

class NvmlThatHangs : public BadPlaces, public testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(In, NvmlThatHangs,
                         testing::Values("nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetName",
                                         "nvmlDeviceGetNvLinkState"),
                         [](const auto& tested) { return std::string(tested.param); });

// Each library has the deadline for itself: what is read of the others does not wait.
TEST_P(NvmlThatHangs, IsCutShort) {
  machine.nvml["hang"] = GetParam();
  options.deadline = LiveOptions().deadline;
  const auto begin = std::chrono::steady_clock::now();
  const auto recording = read();
  EXPECT_LT(seconds_since(begin), 2 * options.deadline.value);
  ASSERT_TRUE(recording) << recording.error().text();
  const Node node = probe::probe(*recording);
  EXPECT_EQ(node.gpus.size(), 8u);
  EXPECT_FALSE(node.gpus[0].nvlinks.has_value());
  EXPECT_EQ(node.nics.size(), 5u);
  EXPECT_EQ(node.processors.packages.value, 2);
  EXPECT_EQ(gap(node, "nvml", "GPUs"), "nvml did not answer within 3 s");
  EXPECT_THAT(blamed(inspect(*recording)), IsEmpty());
}

TEST_F(BadPlaces, OneLostGpuIsNamedAndTheOthersShown) {
  machine.gpu(3)["handle"] = 15;
  const Recording recording = machine.record();
  const Node node = probe::probe(recording);
  ASSERT_EQ(node.gpus.size(), 8u);
  EXPECT_EQ(node.gpus[3].address, Machine::gpu_address(3));
  EXPECT_FALSE(node.gpus[3].uuid.known());
  EXPECT_EQ(node.gpus[4].nvlinks->size(), 18u);
  EXPECT_THAT(gap(node, "nvml", "GPU3"), HasSubstr("fell off the bus"));
  EXPECT_THAT(blamed(inspect(recording)), ElementsAre("critical gpu-lost GPU3"));
}

TEST_F(BadPlaces, OneFailingQuestionCostsItsFactAlone) {
  machine.gpu(3)["errors"] = {{"nvmlDeviceGetNvLinkState", 4}};  // no permission
  const Recording recording = machine.record();
  const Node node = probe::probe(recording);
  EXPECT_EQ(node.gpus[3].model.value, "NVIDIA H100 80GB HBM3");
  EXPECT_THAT(gap(node, "nvml", "GPU3"), HasSubstr("no permission (nvmlDeviceGetNvLinkState)"));
  EXPECT_THAT(blamed(inspect(recording)), IsEmpty());
}

TEST_F(BadPlaces, AnOldDriverTellsWhatItCan) {
  ::setenv("RINGTRUE_NVML", RINGTRUE_OLD_FAKE_NVML_LIBRARY, 1);
  const Recording recording = machine.record();
  const Node node = probe::probe(recording);
  EXPECT_FALSE(node.gpus[0].mig.known());
  EXPECT_EQ(node.gpus[0].nvlinks->size(), 18u);
  EXPECT_EQ(node.gpus[0].nvlinks->at(0).remote, topology::Remote::nvswitch);
  EXPECT_THAT(blamed(inspect(recording)), IsEmpty());
}

TEST_F(BadPlaces, WithoutADriverTheGpusAreThoseOfPci) {
  ::setenv("RINGTRUE_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
  for (const char* why : {"is not installed", "its kernel module is not loaded"}) {
    const Recording recording = machine.record();
    const Node node = probe::probe(recording);
    EXPECT_EQ(node.gpus.size(), 8u);
    EXPECT_EQ(node.gpus[7].name, "GPU7");
    EXPECT_THAT(gap(node, "nvml", "GPUs"), HasSubstr(std::string("no NVIDIA driver: ")));
    EXPECT_THAT(gap(node, "nvml", "GPUs"), HasSubstr(why));
    EXPECT_THAT(blamed(inspect(recording)), IsEmpty());
    ::setenv("RINGTRUE_NVML", RINGTRUE_FAKE_NVML_LIBRARY, 1);
    machine.nvml["init"] = 9;
  }
}

TEST_F(BadPlaces, SleepingGpusAreLeftAlone) {
  machine.nvml["log"] = machine.tree.root() + ".log";
  machine.tree.file("/sys/module/nvidia/refcnt", "2\n");
  machine.tree.folder("/sys/module/nvidia/holders/nvidia_uvm");
  machine.tree.folder("/sys/module/nvidia/holders/nvidia_modeset");
  const Recording recording = machine.record();
  EXPECT_EQ(log(), "");
  const Node node = probe::probe(recording);
  EXPECT_EQ(node.gpus.size(), 8u);
  EXPECT_THAT(gap(node, "nvml", "GPUs"), HasSubstr("--wake-gpus asks"));
  EXPECT_THAT(blamed(inspect(recording)), IsEmpty());

  const Node woken = probe::probe(machine.record(true));
  EXPECT_THAT(log(), HasSubstr("nvmlDeviceGetName " + Machine::gpu_address(7)));
  EXPECT_EQ(woken.gpus[7].nvlinks->size(), 18u);
  EXPECT_EQ(gap(woken, "nvml", "GPUs"), "");
}

TEST_F(BadPlaces, OneSleepingGpuIsLeftAlone) {
  machine.nvml["log"] = machine.tree.root() + ".log";
  machine.pci_file(Machine::gpu_address(2), "power/runtime_status", "suspended");
  const Recording recording = machine.record();
  EXPECT_THAT(log(), Not(HasSubstr(Machine::gpu_address(2))));
  EXPECT_THAT(log(), HasSubstr(Machine::gpu_address(3)));
  EXPECT_THAT(gap(probe::probe(recording), "nvml", "GPU2"), HasSubstr("asleep"));
  EXPECT_THAT(blamed(inspect(recording)), IsEmpty());
  EXPECT_FALSE(recording.files.contains("/sys/bus/pci/devices/" + Machine::gpu_address(2) + "/config"));
}

// ---- files

TEST_F(BadPlaces, WithoutSysfsThereIsAnEmptyNode) {
  machine.tree.remove("/sys");
  machine.tree.remove("/proc");
  machine.nvml["gpus"] = nlohmann::json::array();
  const auto recording = read();
  ASSERT_TRUE(recording) << recording.error().text();
  const Node node = probe::probe(*recording);
  EXPECT_TRUE(node.pci.empty());
  EXPECT_TRUE(node.gpus.empty());
  EXPECT_EQ(gap(node, "sysfs", "PCI devices"), "there is no /sys/bus/pci/devices");
  EXPECT_EQ(gap(node, "sysfs", "netdevs"), "there is no /sys/class/net");
  EXPECT_THAT(blamed(inspect(*recording)), IsEmpty());
}

TEST_F(BadPlaces, WithoutSysfsNvmlStillTellsOfItsGpus) {
  machine.tree.remove("/sys");
  const Recording recording = machine.record();
  const Node node = probe::probe(recording);
  ASSERT_EQ(node.gpus.size(), 8u);
  EXPECT_EQ(node.gpus[7].nvlinks->size(), 18u);
  EXPECT_EQ(node.nvswitches.size(), 4u);
  EXPECT_THAT(blamed(inspect(recording)), IsEmpty());
}

TEST_F(BadPlaces, ARootThatIsNotThere) {
  options.program = RINGTRUE_PROBE;
  options.root = machine.tree.root() + "/nowhere";
  const auto recording = probe::read_this_machine(options, "node0", Seconds(0));
  ASSERT_TRUE(recording) << recording.error().text();
  EXPECT_TRUE(probe::probe(*recording).nics.empty());
}

// A file that root cannot open either: a socket.
void make_unreadable(const std::string& path) {
  fs::remove(path);
  // Its address is short of room for a long path.
  const int here = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::chdir(fs::path(path).parent_path().c_str()), 0);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, fs::path(path).filename().c_str(), sizeof address.sun_path - 1);
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
  EXPECT_EQ(::fchdir(here), 0);
  ::close(here);
}

TEST_F(BadPlaces, AFileThatCannotBeReadIsAGap) {
  const std::string root = machine.tree.root(), nic = root + Machine::folder_of(Machine::rail_chain(1));
  make_unreadable(nic + "/max_link_width");
  make_unreadable(nic + "/infiniband/mlx5_1/ports/1/rate");
  make_unreadable(nic + "/net/ib1/mtu");
  const Recording recording = machine.record();
  const Node node = probe::probe(recording);
  EXPECT_THAT(gap(node, "sysfs", "0000:25:00.0: max_link_width"), HasSubstr("No such device or address"));
  EXPECT_THAT(gap(node, "sysfs", "mlx5_1/1: rate"), HasSubstr("No such device or address"));
  ASSERT_NE(node.find_nic("mlx5_1"), nullptr);
  EXPECT_TRUE(node.find_nic("mlx5_1")->ports[0].state.is("active"));
  EXPECT_TRUE(node.find_nic("mlx5_0")->ports[0].rate.known());
  EXPECT_THAT(blamed(inspect(recording)), IsEmpty());
}

TEST_F(BadPlaces, WithoutPermissionTheGapSaysSo) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string nic = machine.tree.root() + Machine::folder_of(Machine::rail_chain(1));
  ASSERT_EQ(::chmod((nic + "/max_link_width").c_str(), 0), 0);
  EXPECT_THAT(gap(machine.probe(), "sysfs", "0000:25:00.0: max_link_width"), HasSubstr("Permission denied"));
}

TEST_F(BadPlaces, AHalfRemovedDeviceCostsItselfAlone) {
  const std::string folder = Machine::folder_of(Machine::rail_chain(2));
  machine.tree.remove(folder);  // its links dangle
  machine.tree.remove(Machine::folder_of(Machine::rail_chain(1)) + "/class");
  machine.tree.remove(Machine::folder_of(Machine::rail_chain(1)) + "/max_link_speed");
  machine.tree.remove(Machine::folder_of(Machine::gpu_chain(5)) + "/current_link_width");
  machine.tree.remove("/sys/class/infiniband/mlx5_0/ports");
  const auto recording = read();
  ASSERT_TRUE(recording) << recording.error().text();
  const Node node = probe::probe(*recording);
  EXPECT_EQ(node.gpus.size(), 8u);
  EXPECT_TRUE(node.find_nic("mlx5_0")->ports.empty());
  EXPECT_TRUE(node.find_nic("mlx5_1")->ports[0].rate.known());
  EXPECT_EQ(node.find_nic("mlx5_2"), nullptr);
  EXPECT_TRUE(node.find_nic("mlx5_3")->ports[0].rate.known());
  for (const char* gone : {"0000:35:00.0", "mlx5_2", "ib2", "0000:25:00.0", "mlx5_0"})
    EXPECT_THAT(gap(node, "sysfs", gone), HasSubstr("its files are gone")) << gone;
  EXPECT_THAT(blamed(inspect(*recording)), IsEmpty());
}

// ---- the program

TEST_F(BadPlaces, AProgramThatDiesIsNamed) {
  machine.tree.file("/probe", "#!/bin/sh\nkill -9 $$\n");
  options.program = machine.tree.root() + "/probe";
  ::chmod(options.program.c_str(), 0755);
  const auto killed = probe::read_this_machine(options, "node0", Seconds(0));
  ASSERT_FALSE(killed);
  EXPECT_THAT(killed.error().text(), HasSubstr("probe died: Killed"));
  options.program = machine.tree.root() + "/missing";
  const auto missing = probe::read_this_machine(options, "node0", Seconds(0));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().text(), HasSubstr("cannot be started: No such file"));
}

}  // namespace
}  // namespace ringtrue::test
