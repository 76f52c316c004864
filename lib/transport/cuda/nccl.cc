#include "transport/cuda/nccl.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <string_view>
#include <thread>

namespace ringtrue::transport::cuda {

using collective::Operation;
using collective::Type;

// As nccl.h has them.
struct Nccl::Functions {
  int (*version)(int*);
  int (*init_all)(void** ranks, int count, const int* gpus);
  int (*all_reduce)(const void*, void*, std::size_t, int type, int operation, void* rank, void* stream);
  int (*group_start)();
  int (*group_end)();
  int (*destroy)(void* rank);
  int (*abort)(void* rank);
  const char* (*error)(int);
};

namespace {

// By our own values of them.
constexpr int numbers_of_types[] = {7, 8, 6, 9, 2, 4};    // float32, float64, float16, bfloat16, int32, int64
constexpr int numbers_of_operations[] = {0, 1, 3, 2, 4};  // sum, prod, min, max, avg

// NCCL reads these once for each process, when it is first called.
int ask_for_log() {
  static const int log = [] {
    if (std::getenv("NCCL_DEBUG")) return -1;
    const int memory = ::memfd_create("nccl", MFD_CLOEXEC);
    if (memory < 0) return -1;
    ::setenv("NCCL_DEBUG", "INFO", 1);
    ::setenv("NCCL_DEBUG_SUBSYS", "TUNING", 1);
    ::setenv("NCCL_DEBUG_FILE", fmt::format("/proc/self/fd/{}", memory).c_str(), 1);
    return memory;
  }();
  return log;
}

// NCCL's own threads wait for each other as long as it takes. What makes them do so is called by a thread
// that is left behind where it does not come back: `call` owns what it uses. Empty: the deadline passed.
template <class Call>
std::optional<int> within(Deadline deadline, Call call) {
  std::packaged_task<int()> task(std::move(call));
  std::future<int> result = task.get_future();
  std::thread(std::move(task)).detach();
  const int left = deadline.left_ms();
  if (left < 0) result.wait();
  if (left >= 0 && result.wait_for(std::chrono::milliseconds(left)) != std::future_status::ready) return {};
  return result.get();
}

std::string word_after(const std::string& text, const std::string& mark) {
  const auto at = text.find(mark);
  if (at == text.npos) return {};
  const auto begin = at + mark.size();
  const std::string word =
      text.substr(begin, std::min(text.find_first_of(" \n", begin), text.size()) - begin);
  const bool plain =
      std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  return plain ? word.substr(0, 32) : std::string();
}

// In NCCL's own order, which it keeps.
constexpr std::string_view algorithms[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                           "NVLS_TREE", "PAT"};
constexpr std::string_view protocols[] = {"LL", "LL128", "SIMPLE"};

std::string named(const std::string& word, std::span<const std::string_view> names) {
  const bool number = word.size() == 1 && word[0] >= '0' && std::size_t(word[0] - '0') < names.size();
  return number ? std::string(names[std::size_t(word[0] - '0')]) : word;
}

}  // namespace

std::string algorithm_in_log(const std::string& log) {
  const auto line = log.rfind("Bytes -> Algo ");
  if (line == log.npos) return {};
  const std::string last = log.substr(line, log.find('\n', line) - line);
  const std::string algorithm = named(word_after(last, "Algo "), algorithms),
                    protocol = named(word_after(last, "proto "), protocols);
  return algorithm.empty() || protocol.empty() ? algorithm : fmt::format("{}, {}", algorithm, protocol);
}

Result<std::unique_ptr<Nccl>> Nccl::open(std::span<const int> gpus, Deadline deadline,
                                         const std::string& library) {
  const int log = ask_for_log();
  void* const opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened)
    return fail(Cause::unavailable, fmt::format("{} cannot be opened", library), {},
                "install NCCL, or say in LD_LIBRARY_PATH where it is");
  std::unique_ptr<Nccl> made(new Nccl());
  made->log_ = log;
  made->functions_ = std::make_shared<Functions>();
  Functions& f = *made->functions_;
  const char* missing = nullptr;
  const auto find = [&](auto& into, const char* name) {
    into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(::dlsym(opened, name));
    if (!into && !missing) missing = name;
  };
  find(f.version, "ncclGetVersion");
  find(f.init_all, "ncclCommInitAll");
  find(f.all_reduce, "ncclAllReduce");
  find(f.group_start, "ncclGroupStart");
  find(f.group_end, "ncclGroupEnd");
  find(f.destroy, "ncclCommDestroy");
  find(f.abort, "ncclCommAbort");
  find(f.error, "ncclGetErrorString");
  if (missing) return fail(Cause::unavailable, fmt::format("{} has no {}", library, missing));
  if (auto good = made->checked(f.version(&made->version_), "tell its version"); !good)
    return tl::unexpected(good.error());
  const auto ranks = std::make_shared<std::vector<void*>>(gpus.size(), nullptr);
  const auto init = [ranks, functions = made->functions_, on = std::vector<int>(gpus.begin(), gpus.end())] {
    return functions->init_all(ranks->data(), int(on.size()), on.data());
  };
  if (auto good = made->checked(within(deadline, init), "connect these GPUs"); !good)
    return tl::unexpected(good.error());
  made->ranks_ = *ranks;
  return made;
}

Nccl::~Nccl() {
  for (void* const rank : ranks_) functions_->destroy(rank);
}

void Nccl::abort() {
  const auto all = [ranks = std::move(ranks_), functions = functions_] {
    for (void* const rank : ranks) functions->abort(rank);
    return 0;
  };
  ranks_.clear();
  within(Deadline::in(Seconds(2)), all);
}

Result<void> Nccl::checked(std::optional<int> result, const char* what) const {
  if (!result)
    return fail(Cause::deadline, fmt::format("NCCL did not {} in time", what), {}, "see NCCL_DEBUG=INFO");
  if (*result == 0) return {};
  const char* const why = functions_->error(*result);
  return fail(Cause::unavailable,
              fmt::format("NCCL cannot {}: {}", what, why ? why : std::to_string(*result)), {},
              "see NCCL_DEBUG=INFO");
}

int Nccl::group(const Functions& f, std::span<void* const> ranks, std::span<const Part> parts,
                std::uint64_t elements, int type, int operation) {
  int result = f.group_start();
  for (std::size_t i = 0; i < parts.size() && result == 0; ++i)
    result = f.all_reduce(parts[i].data, parts[i].data, elements, type, operation, ranks[i], parts[i].stream);
  const int ended = f.group_end();
  return result ? result : ended;
}

Result<void> Nccl::allreduce(std::span<const Part> parts, std::uint64_t elements, Type type,
                             Operation operation, Deadline deadline) {
  if (parts.size() != ranks_.size()) return fail(Cause::internal, "NCCL was opened for other GPUs");
  const int t = numbers_of_types[std::size_t(type)], op = numbers_of_operations[std::size_t(operation)];
  const auto first = [&] {
    return within(deadline,
                  [=, functions = functions_, ranks = ranks_, all = std::vector(parts.begin(), parts.end())] {
                    return group(*functions, ranks, all, elements, t, op);
                  });
  };
  const auto result = connected_ ? group(*functions_, ranks_, parts, elements, t, op) : first();
  connected_ = true;
  return checked(result, "start an allreduce");
}

std::string Nccl::version() const {
  // 2.9 and later: 10000 a major version.
  return version_ < 10000
             ? fmt::format("NCCL {}.{}.{}", version_ / 1000, version_ % 1000 / 100, version_ % 100)
             : fmt::format("NCCL {}.{}.{}", version_ / 10000, version_ % 10000 / 100, version_ % 100);
}

std::string Nccl::how() const {
  if (log_ < 0) return {};
  constexpr off_t max_bytes = 64 * 1024;  // of the log's end
  const off_t end = ::lseek(log_, 0, SEEK_END);
  const off_t from = std::max<off_t>(end - max_bytes, 0);
  std::string text(std::size_t(std::max<off_t>(end - from, 0)), '\0');
  const ssize_t got = ::pread(log_, text.data(), text.size(), from);
  text.resize(std::size_t(std::max<ssize_t>(got, 0)));
  return algorithm_in_log(text);
}

}  // namespace ringtrue::transport::cuda
