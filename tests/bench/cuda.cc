// What a GPU has to show, as a table: rates, times and results, each beside what is wanted of it
// (tests/support/gpu_figures.h). Takes the number of a GPU, and how many MiB the largest buffers have (1024),
// and which parts are done (memory,host,collectives,results); some minutes. Exit code 1: a figure is missed,
// or the driver fails; 77: there is no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "tests/support/gpu_figures.h"
#include "transport/cuda/load.h"

using namespace ringtrue;

int main(int count, char** words) {
  test::FigureSettings settings;
  if (count > 1) settings.gpu = std::atoi(words[1]);
  if (count > 2) settings.large = std::uint64_t(std::max(std::atoi(words[2]), 1)) << 20;
  if (count > 3) settings.parts = words[3];
  settings.medium = std::min(settings.medium, settings.large);
  const auto driver = transport::cuda::system_driver();
  if (!driver) {
    fmt::print(stderr, "bench_cuda: {}\n", driver.error().text());
    const bool none = driver.error().what.starts_with("no ");  // GPU, driver or module; others are broken
    return none ? 77 : 1;
  }
  const auto gpus = (*driver)->gpus();
  if (!gpus || settings.gpu < 0 || std::size_t(settings.gpu) >= gpus->size()) {
    fmt::print(stderr, "bench_cuda: there is no GPU {}; see nvidia-smi -L\n", settings.gpu);
    return 3;
  }
  char date[16] = "";
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  fmt::print("{}, {}, {}\n\n", date, (*gpus)[std::size_t(settings.gpu)].name, (*driver)->version());
  int missed = 0;
  const auto told = test::tell_figures(**driver, settings, [&](const test::Figure& figure) {
    const char* const verdict = figure.wanted.empty() ? "" : figure.met ? "yes" : "NO";
    fmt::print("{:<62} {:<38} {:<32} {}\n", figure.what, figure.measured, figure.wanted, verdict);
    std::fflush(stdout);
    missed += figure.met ? 0 : 1;
  });
  if (!told) {
    fmt::print(stderr, "bench_cuda: {}\n", told.error().text());
    return 1;
  }
  if (missed > 0) fmt::print("\n{} figure{} missed\n", missed, missed == 1 ? "" : "s");
  return missed > 0 ? 1 : 0;
}
