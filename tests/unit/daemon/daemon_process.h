// A real ringtrued in a folder of its own, and a client of it.
#pragma once

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "paths.h"
#include "wire/convert.h"
#include "wire/node.grpc.pb.h"

namespace ringtrue::daemon {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/ringtrue-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline bool eventually(const auto& condition, Seconds time = Seconds(10)) {
  const Deadline deadline = Deadline::in(time);
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class DaemonProcess {
 public:
  DaemonProcess(std::vector<std::string> arguments, std::string log) : log_(std::move(log)) {
    arguments.insert(arguments.begin(), RINGTRUED);
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int fd = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(fd, 2);
      ::execv(RINGTRUED, argv.data());
      ::_exit(127);
    }
  }
  ~DaemonProcess() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  // Its exit status, -1 if a signal ended it or it does not end.
  int exit_status(Seconds time = Seconds(15)) {
    int status = 0;
    if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, time)) return -1;
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string log() const {
    std::ifstream file(log_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  bool says(const std::string& part) const {
    return eventually([&] { return log().find(part) != std::string::npos; });
  }
  std::vector<pid_t> children() const {
    std::vector<pid_t> found;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
      std::ifstream file(task.path() / "children");
      for (pid_t child; file >> child;)
        if (!is_dead(child)) found.push_back(child);
    }
    return found;
  }

 private:
  // Killed, but not yet reaped.
  static bool is_dead(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t state = text.rfind(") ");
    return state == text.npos || text[state + 2] == 'Z';
  }

  std::string log_;
  pid_t pid_ = 0;
};

// A lease's stream with commands one after the other.
class Operator {
 public:
  explicit Operator(rpc::Node::Stub& stub, int seconds = 30) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
    stream_ = stub.Lease(&context_);
  }
  // Writes, and gives the answer with the command's sequence; one without an outcome when the stream ends.
  rpc::Event ask(rpc::Command command) {
    command.set_sequence(++sequence_);
    if (command.deadline_s() == 0) command.set_deadline_s(5);
    stream_->Write(command);
    return answer(sequence_);
  }
  rpc::Event answer(std::uint64_t sequence) {
    rpc::Event event;
    while (stream_->Read(&event)) {
      if (event.has_heartbeat()) {
        ++heartbeats;
        stream_->Write(beat());
      } else if (event.sequence() == sequence || event.sequence() == 0) {
        return event;
      }
    }
    return {};
  }
  void write(const rpc::Command& command) { stream_->Write(command); }
  bool read(rpc::Event& event) { return stream_->Read(&event); }
  grpc::Status finish() {
    stream_->WritesDone();
    return wait_for_end();
  }
  grpc::Status wait_for_end() {
    rpc::Event event;
    while (stream_->Read(&event)) {
    }
    return stream_->Finish();
  }
  void cancel() { context_.TryCancel(); }

  static rpc::Command beat() {
    rpc::Command command;
    command.mutable_heartbeat();
    return command;
  }
  int heartbeats = 0;

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<rpc::Command, rpc::Event>> stream_;
  std::uint64_t sequence_ = 0;
};

}  // namespace ringtrue::daemon
