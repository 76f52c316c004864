"""Debian's Prometheus and node_exporter on a node of the lab, with the shipped rules."""
import json
import os
import shutil
import subprocess
import time
import urllib.parse

from .network import LabError, Missing

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
RULES = os.path.join(ROOT, "packaging/monitoring/ringtrue.rules.yml")
KEEPS = "keep_firing_for: 15m"  # shorter here: whether it ends is what is asked
PORT, EXPORTER_PORT = 9090, 9100


class Prometheus:
    """Scrapes the daemons' pages over mutual TLS each second, and a folder of text files; asked by curl in the node's
    namespace."""

    def __init__(self, lab, node, targets):
        for program in ("prometheus", "prometheus-node-exporter", "curl"):
            if shutil.which(program) is None:
                raise Missing(f"there is no {program} here (Debian's package of that name)")
        self.lab, self.node = lab, node
        self.folder = os.path.join(lab.cluster.directory, "prometheus")
        self.texts = os.path.join(self.folder, "texts")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.texts)
        self.started = []
        certificates = os.path.join(lab.cluster.pki, "prometheus")
        lab.cluster.certify("issue", "--dir", lab.cluster.pki, "--role", "read", "prometheus")
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [f"{self.folder}/rules.yml"],
                  "scrape_configs": [
                      {"job_name": "ringtrued", "scheme": "https", "static_configs": [{"targets": targets}],
                       "tls_config": {"ca_file": f"{certificates}/ca.crt", "cert_file": f"{certificates}/operator.crt",
                                      "key_file": f"{certificates}/operator.key"}},
                      {"job_name": "node", "static_configs": [{"targets": [f"127.0.0.1:{EXPORTER_PORT}"]}]}]}
        with open(RULES) as file, open(os.path.join(self.folder, "rules.yml"), "w") as copy:
            copy.write(file.read().replace(KEEPS, "keep_firing_for: 2s"))
        path = os.path.join(self.folder, "prometheus.yml")  # JSON is YAML
        with open(path, "w") as file:
            json.dump(config, file)
        self._start("prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{EXPORTER_PORT}",
                    "--collector.disable-defaults", "--collector.textfile",
                    f"--collector.textfile.directory={self.texts}")
        self._start("prometheus", f"--config.file={path}", f"--storage.tsdb.path={self.folder}/data",
                    f"--web.listen-address=127.0.0.1:{PORT}")

    def _start(self, program, *words):
        with open(os.path.join(self.lab.cluster.directory, f"{program}.log"), "wb") as log:
            self.started.append(subprocess.Popen(self.lab.network.command(self.node, [program, *words]),
                                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            process.terminate()
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)

    def query(self, expression):
        """Samples as (labels, value)."""
        url = f"http://127.0.0.1:{PORT}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        done = subprocess.run(self.lab.network.command(self.node, ["curl", "-s", "-m", "10", url]),
                              capture_output=True, text=True, timeout=30)
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            return []  # it is not up yet
        if answer.get("status") != "success":
            raise LabError(f"{expression}: {answer.get('error')}")
        return [(sample["metric"], float(sample["value"][1])) for sample in answer["data"]["result"]]

    def value(self, expression):
        samples = self.query(expression)
        return samples[0][1] if len(samples) == 1 else None

    def wait(self, expression, holds, seconds):
        """Until the samples are as they should be; the last ones."""
        until = time.monotonic() + seconds
        while True:
            samples = self.query(expression)
            if holds(samples):
                return samples
            if time.monotonic() > until:
                raise AssertionError(f"after {seconds} s {expression} gives {samples}")
            time.sleep(0.5)
