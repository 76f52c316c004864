"""Everybody whose allreduce is timed, behind one shape: a label, and how to run it once.

A run gives [Measurement], one a size. A contender that cannot run here gives the reason instead.
"""
import dataclasses
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
LIMIT = 240  # seconds for one contender in one round


@dataclasses.dataclass
class Measurement:
    """One contender at one size in one round; times are of one call on its slowest rank."""
    bytes: int
    median_s: float
    min_s: float
    max_s: float
    cpu_s: float | None  # of one call, over all ranks


@dataclasses.dataclass
class Job:
    sizes: list    # texts: "256M"
    samples: int
    warmup: int
    ranks: int


class Failure(Exception):
    pass


class Place:
    """Where ranks run: 8 processes on this machine, or one a node of a lab. earlier: the same for another build."""

    def __init__(self, programs, peers, cluster=None, earlier=None):
        self.programs, self.peers, self.cluster, self.earlier = programs, peers, cluster, earlier

    @property
    def ranks(self):
        return self.cluster.network.size if self.cluster else 8

    def on(self, rank, command):
        if not self.cluster:
            return [str(word) for word in command]
        return self.cluster.network.command(rank, command)

    def peer(self, name):
        return os.path.join(self.peers, name)


def execute(command, env=None, limit=LIMIT):
    run = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})},
                           start_new_session=True)
    try:
        out, err = run.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)  # a launcher's ranks as well
        run.communicate()
        raise Failure(f"no end within {limit} s")
    if run.returncode != 0:
        reasons = (err or out).strip().splitlines() or ["no reason given"]
        raise Failure(f"exit {run.returncode}: {reasons[-1][:200]}")
    return out


def lines(text):
    """The JSON lines of samples.h among whatever else a launcher prints."""
    found = []
    for line in text.splitlines():
        if line.startswith('{"bytes"'):
            row = json.loads(line)
            found.append(Measurement(row["bytes"], statistics.median(row["time_s"]), min(row["time_s"]),
                                     max(row["time_s"]), statistics.median(row["cpu_s"])))
    if not found:
        raise Failure("printed no samples")
    return found


class Ringtrue:
    def __init__(self, algorithm, transport=None, hosts=None, label=None):
        self.algorithm, self.transport, self.hosts = algorithm, transport, hosts
        self.label = label or f"ringtrue {algorithm}"

    def run(self, place, job):
        found = []
        for size in job.sizes:
            words = [os.path.join(place.programs, "ringtrue"), "run", self.algorithm, "--size", size,
                     "--iterations", job.samples, "--warmup", job.warmup, "--json"]
            if place.cluster:
                words += ["--hosts", self.hosts or place.cluster.hosts, "--pki", place.cluster.pki]
            else:
                words += ["--local", job.ranks]
            if self.transport:
                words += ["--transport", self.transport]
            for row in json.loads(execute(place.on(0, words)))["results"]:
                if row["wrong"]:
                    raise Failure(f"{row['wrong']} wrong elements")
                time = row["time_s"]
                found.append(Measurement(row["bytes"], time["median"], time["min"], time["max"], row["cpu_s"]))
        return found


class EarlierBuild:
    """One of ringtrue's contenders, as another build of it does."""

    def __init__(self, contender):
        self.contender, self.label = contender, f"{contender.label}, earlier build"

    def run(self, place, job):
        return self.contender.run(place.earlier, job)


class OpenMpi:
    """Algorithms are tuned's numbers: 3 recursive doubling, 4 ring, 5 segmented ring, 6 Rabenseifner."""

    def __init__(self, label, transfer, algorithm=None, segment=None):
        self.label, self.transfer, self.algorithm, self.segment = f"Open MPI {label}", transfer, algorithm, segment

    def run(self, place, job):
        interface = "eth0" if place.cluster else "lo"
        # Eight ranks share a few cores: without yielding, those that wait hold up those that work.
        words = ["mpirun.openmpi", "--mca", "mpi_yield_when_idle", "1", "--mca", "oob_tcp_if_include", interface]
        if place.cluster:
            words += ["-host", ",".join(place.cluster.network.names()), "--mca", "plm_rsh_agent",
                      os.path.join(here, "on-node")]
        else:
            words += ["-n", job.ranks, "--oversubscribe", "--bind-to", "none"]
        if self.transfer == "ucx":
            words += ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any",
                      "-x", "UCX_TLS=" + ("tcp,self" if place.cluster else "posix,cma,self"), "-x",
                      "UCX_LOG_LEVEL=error"]
        else:
            words += ["--mca", "pml", "ob1", "--mca", "btl", f"{self.transfer},self",
                      "--mca", "btl_tcp_if_include", interface]
        if self.algorithm:
            words += ["--mca", "coll_tuned_use_dynamic_rules", "1",
                      "--mca", "coll_tuned_allreduce_algorithm", self.algorithm]
        if self.segment:
            words += ["--mca", "coll_tuned_allreduce_algorithm_segmentsize", self.segment]
        words += [place.peer("mpi_allreduce.openmpi"), ",".join(job.sizes), job.samples, job.warmup]
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return lines(execute(place.on(0, words), root))


class Mpich:
    """Its ranks wait in busy loops: where they outnumber the cores, one call takes scheduler turns."""
    limit = 60

    def __init__(self, label="", algorithm=None):
        self.label, self.algorithm = f"MPICH {label}".strip(), algorithm

    def run(self, place, job):
        words = ["mpiexec.mpich", "-n", job.ranks, "-genv", "UCX_LOG_LEVEL", "error"]
        if place.cluster:
            words += ["-launcher", "rsh", "-launcher-exec", os.path.join(here, "on-node"), "-iface", "eth0",
                      "-hosts", ",".join(place.cluster.network.names()), "-genv", "UCX_TLS", "tcp,self",
                      "-genv", "MPIR_CVAR_NOLOCAL", "1"]
        if self.algorithm:
            words += ["-genv", "MPIR_CVAR_DEVICE_COLLECTIVES", "none",
                      "-genv", "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", self.algorithm]
        words += [place.peer("mpi_allreduce.mpich"), ",".join(job.sizes), job.samples, job.warmup]
        return lines(execute(place.on(0, words), limit=self.limit))


class Gloo:
    def __init__(self, algorithm):
        self.algorithm, self.label = algorithm, f"Gloo {algorithm}"

    def run(self, place, job):
        store = tempfile.mkdtemp(prefix="gloo-")
        ranks = []
        try:
            for rank in range(job.ranks):
                address = place.cluster.network.address(rank) if place.cluster else "127.0.0.1"
                words = ["timeout", LIMIT, place.peer("gloo_allreduce"), self.algorithm, rank, job.ranks, store,
                         address, ",".join(job.sizes), job.samples, job.warmup]
                ranks.append(subprocess.Popen([str(w) for w in place.on(rank, words)], stdin=subprocess.DEVNULL,
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            answers = [rank.communicate(timeout=LIMIT + 10) for rank in ranks]
        finally:
            for rank in ranks:
                if rank.poll() is None:
                    rank.kill()
                    rank.wait()
            shutil.rmtree(store, ignore_errors=True)
        for rank, (_, err) in zip(ranks, answers):
            if rank.returncode != 0:
                raise Failure(f"exit {rank.returncode}: {(err.strip().splitlines() or ['no reason given'])[-1][:200]}")
        return lines(answers[0][0])


class MemoryFloor:
    """No allreduce: the loads and stores that one cannot do without."""

    def __init__(self, kind):
        self.kind, self.label = kind, f"memory, {kind}"

    def run(self, place, job):
        found = []
        for size in job.sizes:
            found += lines(execute([place.peer("memory_floor"), self.kind, size, job.ranks, job.samples]))
        return found


class IperfRing:
    """iperf3 from every node to its neighbour at once; the time is what a ring of that rate would take."""
    label = "iperf3 around the ring"
    port = 5201

    def __init__(self, seconds=4):
        self.seconds = seconds

    def run(self, place, job):
        network = place.cluster.network
        before = processor_time()
        servers = [subprocess.Popen(network.command(node, ["iperf3", "-s", "-1", "-p", self.port]),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for node in range(network.size)]
        clients = []
        try:
            for node in range(network.size):
                self._wait_for_server(network, node)
            clients = [subprocess.Popen(
                network.command(node, ["iperf3", "-J", "-c", network.address((node + 1) % network.size),
                                       "-p", self.port, "-t", self.seconds, "-O", 1]),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                for node in range(network.size)]
            answers = [json.loads(client.communicate(timeout=LIMIT)[0]) for client in clients]
        finally:
            for process in clients + servers:
                if process.poll() is None:
                    process.kill()
                process.wait()
        cpu = (processor_time() - before) / (self.seconds + 1)  # of clients and servers, all ended by now
        flows = [answer["end"]["sum_received"]["bits_per_second"] / 8 for answer in answers]
        found = []
        for size in job.sizes:
            count = in_bytes(size)
            moved = count * 2 * (job.ranks - 1) / job.ranks
            median = moved / statistics.median(flows)
            found.append(Measurement(count, median, moved / max(flows), moved / min(flows), cpu * median))
        return found

    def _wait_for_server(self, network, node):
        for _ in range(100):
            listing = execute(network.command(node, ["ss", "-Hltn", f"sport = :{self.port}"]))
            if listing.strip():
                return
        raise Failure("iperf3 -s does not listen")


def processor_time():
    """Processor time of all children that have ended, in seconds."""
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def in_bytes(size):
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(size[:-1]) * units[size[-1]] if size[-1] in units else int(size)
