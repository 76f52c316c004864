// mpi_allreduce SIZES SAMPLES WARMUP: MPI_Allreduce (float32, sum, in place) as its users see it.
#include <mpi.h>

#include "samples.h"

namespace {

double reduced(double value, MPI_Op op) {
  double result = 0;
  MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) {
    std::fprintf(stderr, "mpi_allreduce SIZES SAMPLES WARMUP\n");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  samples::Plan plan{samples::parse_sizes(argv[1]), std::atoi(argv[2]), std::atoi(argv[3])};
  samples::Library library;
  MPI_Comm_rank(MPI_COMM_WORLD, &library.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &library.ranks);
  library.barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  library.allreduce = [](float* data, std::size_t count) {
    MPI_Allreduce(MPI_IN_PLACE, data, int(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  library.largest = [](double value) { return reduced(value, MPI_MAX); };
  library.total = [](double value) { return reduced(value, MPI_SUM); };
  const bool right = samples::measure(plan, library);
  MPI_Finalize();
  return right ? 0 : 1;
}
