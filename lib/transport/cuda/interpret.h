// The interpreter of a rank's program (dataflow.h), written once: a block of threads plays every instruction
// from first to last, doing its own part of each. Compiled by nvcc as a kernel, and by g++ for tests in which
// host threads are the blocks.
//
// Memory order: a block's reads and writes come before its arrive(), the last block's arrive() comes after
// those of all others, its barrier passes that on to the threads that signal, and publish() makes all of that
// come before the signals after it; who loads one sees all of them, on any GPU. For this a World (bodies.h)
// also has
//   sync(), any(bool)      a block's barrier; the same, true for all if it is true for one
//   arrive(p)              adds 1 with acquire and release among the rank's blocks; returns what was there
//   publish()              what came before, here and by what this thread has loaded, before what it signals
//   signal(p, n), load_acquire(p)   a word in any rank's memory: written after publish(), read with acquire
//   store_release(p, n)    the same write, after all that this thread did before
//   load_relaxed(p)        a word that the host may write
//   pause(spins)           before asking again
//   sources                a block's own room for max_ranks pointers
#pragma once

#include "transport/cuda/bodies.h"

namespace ringtrue::transport::cuda {

// Progress is signalled as call << 32 | finished instructions: it only ever rises, so nothing is reset
// between calls.
RINGTRUE_GPU std::uint64_t progress(std::uint32_t call, std::uint32_t finished) {
  return std::uint64_t(call) << 32 | finished;
}

// False: the host wants everybody to leave.
template <class World>
RINGTRUE_GPU bool await(World& world, const Work& work, const std::uint32_t* abort, std::uint32_t call,
                        const Wait& wait) {
  const std::uint64_t wanted = progress(call, wait.finished);
  for (std::uint32_t spins = 0;; ++spins) {
    if (world.load_acquire(work.progress + wait.rank) >= wanted) return true;
    // The host's word lies across PCIe, where readers queue up: one block of a rank at a time looks at it.
    if (spins % 512 == 511 && spins / 512 % world.blocks == world.block && world.load_relaxed(abort))
      return false;
    world.pause(spins);
  }
}

// Leaves word of where this rank stopped, and for whom. By one thread.
template <class World>
RINGTRUE_GPU void report_stop(World& world, const Work& work, std::uint32_t call, std::uint32_t i) {
  const Instruction& now = work.instructions[i];
  for (std::uint32_t w = 0; w < now.waits; ++w) {
    const Wait& wait = work.waits[now.first_wait + w];
    const std::uint64_t had = world.load_acquire(work.progress + wait.rank);
    if (had >= progress(call, wait.finished)) continue;
    work.stop->instruction = i;
    work.stop->peer = wait.rank;
    work.stop->wanted = wait.finished;
    work.stop->had = had >= progress(call, 0) ? std::uint32_t(had) : 0;
    world.store_release(&work.stop->stopped, 1);
    return;
  }
}

template <class N, class Op, class World>
RINGTRUE_GPU void interpret(World& world, const Work& work, const std::uint32_t* abort, bool divides) {
  const std::uint32_t call = *work.call;
  const auto at = [&](std::uint32_t rank, std::uint32_t space, std::uint64_t offset) {
    return work.peers[rank].space[space] + offset;
  };
  for (std::uint32_t i = 0; i < work.count; ++i) {
    const Instruction& now = work.instructions[i];
    bool leave = false;
    for (std::uint32_t w = world.thread; w < now.waits; w += world.threads)
      leave = leave || !await(world, work, abort, call, work.waits[now.first_wait + w]);
    for (std::uint32_t s = world.thread; s < now.sources; s += world.threads) {
      const Source& source = work.sources[now.first_source + s];
      world.sources[s] = at(source.rank, source.space, source.offset);
    }
    if ((now.waits || now.sources) && world.any(leave)) {
      if (world.block == 0 && world.thread == 0) report_stop(world, work, call, i);
      return;
    }
    if (now.move != Move::nothing)
      move<N, Op>(world, now.move, at(work.rank, now.into_space, now.into),
                  at(work.rank, now.with_space, now.with), world.sources, now.sources, now.length, divides,
                  work.ranks);
    const bool last = i + 1 == work.count, signals = now.signals || last;
    if (signals || now.sources) world.sync();
    if (!signals) continue;
    // A thread for each rank that is told. A rank's only block need not ask whether it is the last one.
    if (world.blocks > 1 &&
        !world.any(world.thread == 0 && (world.arrive(work.arrived + i) + 1) % world.blocks == 0))
      continue;
    if (last && world.thread == 0) *work.call = call + 1;
    for (std::uint32_t rank = world.thread; rank < work.ranks; rank += world.threads) {
      if (!(now.signals >> rank & 1)) continue;
      world.publish();
      world.signal(work.peers[rank].progress, progress(call, i + 1));
    }
  }
}

}  // namespace ringtrue::transport::cuda
