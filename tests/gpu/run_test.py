#!/usr/bin/env python3
"""Which refusals of ringtrue `run` takes for a machine without a GPU, and which for a failure."""
import os
import pathlib
import subprocess
import sys
import tempfile

RUN = pathlib.Path(__file__).parent / "run"
EXPECTED = {
    "no NVIDIA driver: libcuda.so.1 is missing; run where there is a GPU with its driver, or use host memory": 77,
    "no NVIDIA GPU here; see nvidia-smi -L and CUDA_VISIBLE_DEVICES": 77,
    "no GPU support: libringtrue-cuda.so is not installed; build ringtrue where nvcc is found, or use host memory": 77,
    "the NVIDIA driver is too old: it is for CUDA 12.2, and 13.0 is needed; install a newer driver": 1,
    "GPU 0 (GPU-8d1c) is used by python3 (process 7); wait for it, choose others with --gpus, or say --share-gpus": 1,
    "cannot count GPUs on this node: system not yet initialized (cudaErrorSystemNotReady)": 1,
}


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "ringtrue"
        for text, wanted in EXPECTED.items():
            program.write_text(f"#!/bin/sh\necho 'ringtrue: {text}' >&2\nexit 3\n")
            program.chmod(0o755)
            done = subprocess.run([sys.executable, RUN], env=os.environ | {"RINGTRUE_BIN": folder}, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
            if done.returncode != wanted or text not in done.stdout:
                wrong += 1
                print(f"exit {done.returncode} instead of {wanted} of: {text}\n{done.stdout}{done.stderr}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
