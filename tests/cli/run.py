#!/usr/bin/env python3
"""Plays cases.toml: each a command, its exit code, and patterns that its output must match.

A case: name, args (as in a shell; {tmp} is a fresh folder), exit; optional stdout, stderr (lists of regular
expressions that must be found), absent (on neither), schema (stdout is JSON that fits packaging/schema/NAME.json),
values (path -> value in that JSON), env, files (name -> content, made in {tmp}), to (where stdout goes; "closed":
nowhere), widest (no line of stdout is wider), interrupt (SIGINT after so many seconds, to
all of its processes as from a terminal), memory (MiB that it may have; not below a sanitizer), daemons (so many wait on
loopback, with the case's env; {hosts} are theirs), unless (a pattern of files; skipped where there are some).
A case with `each` is played for each of these words, which take the place of {each} in args and patterns: a list,
"commands" ("", "check", ..., "pki issue") or "values" ("check --budget", ...: every option that takes a value).
"""
import argparse
import concurrent.futures
import contextlib
import glob
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).parent
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def departures(schema, value, path="", root=None):
    """What of `value` does not fit, for the part of JSON Schema that our schemas use."""
    found = []
    root = root or schema
    for word, rule in schema.items():
        if word in ("$schema", "$id", "title", "description", "$defs"):
            continue
        if word == "$ref":
            found += departures(root["$defs"][rule.removeprefix("#/$defs/")], value, path, root)
        elif word == "type":
            names = rule if isinstance(rule, list) else [rule]
            if not any(has_type(value, name) for name in names):
                found.append(f"{path}: not of type {rule}")
        elif word == "const":
            if value != rule:
                found.append(f"{path}: not {rule!r}")
        elif word == "enum":
            if value not in rule:
                found.append(f"{path}: none of {rule}")
        elif word in ("minimum", "maximum"):
            if has_type(value, "number") and (value < rule if word == "minimum" else value > rule):
                found.append(f"{path}: beyond the {word} {rule}")
        elif word in ("minItems", "maxItems"):
            if isinstance(value, list) and (len(value) < rule if word == "minItems" else len(value) > rule):
                found.append(f"{path}: beyond {word} {rule}")
        elif word == "items":
            if isinstance(value, list):
                for i, item in enumerate(value):
                    found += departures(rule, item, f"{path}/{i}", root)
        elif word == "properties":
            if isinstance(value, dict):
                for key, below in rule.items():
                    if key in value:
                        found += departures(below, value[key], f"{path}/{key}", root)
        elif word == "required":
            if isinstance(value, dict):
                found += [f"{path}: lacks {key}" for key in rule if key not in value]
        elif word == "additionalProperties":
            if isinstance(value, dict):
                for key in value.keys() - schema.get("properties", {}).keys():
                    if rule is False:
                        found.append(f"{path}: unknown key {key}")
                    elif isinstance(rule, dict):
                        found += departures(rule, value[key], f"{path}/{key}", root)
        elif word == "anyOf":
            tries = [departures(choice, value, path, root) for choice in rule]
            if all(tries):
                found += sum(tries, [])
        else:
            found.append(f"the schema uses {word!r}, which this checker does not know")
    return found


def failure_departures(out, schemas):
    """What of the document of a failure does not fit the schema that it names."""
    try:
        value = json.loads(out)
        name = value["schema"].removeprefix("ringtrue.").removesuffix("/1")
        schema = json.loads(pathlib.Path(schemas, name + ".json").read_text())
    except (ValueError, KeyError, OSError) as error:
        return [f"stdout is no document of ours: {error!r}"]
    return ([] if "error" in value else ["the JSON has no error"]) + departures(schema, value)[:5]


def at(value, path):
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def each_of(what, program):
    """The words of `each`; commands and options are those that the program's own completion knows."""
    if not isinstance(what, str):
        return what
    script = subprocess.run([program, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    if what == "commands":
        return ["", *re.findall(r"path='([^']+)' ;;", script)]
    assert what == "values", what
    return [words.strip() for words in re.findall(r"^    '([^']* --[^']+)'\) COMPREPLY", script, re.M)]


def spread(case, program):
    """The case itself, or one for each of its words."""
    if "each" not in case:
        yield case
        return
    words = each_of(case["each"], program)
    assert words, case["name"]
    for word in words:
        one = dict(case, name=f"{case['name']}: {word or '-'}", args=case["args"].replace("{each}", word))
        for key in ("stdout", "stderr", "absent"):
            if key in case:
                one[key] = [pattern.replace("{each}", word.split(" ")[-1]) for pattern in case[key]]
        yield one


@contextlib.contextmanager
def daemons(count, program, tmp, env):
    """Waits until so many answer on loopback; what --hosts has to say."""
    running, hosts = [], []
    try:
        for i in range(count):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            state = pathlib.Path(tmp, f"daemon{i}")
            state.mkdir()
            with open(state / "log", "w") as log:
                running.append(subprocess.Popen(
                    [program, "--listen", f"127.0.0.1:{port}", "--insecure", "--state", state, "--node", f"node{i}"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, cwd=tmp))
            hosts.append(f"127.0.0.1:{port}")
            until = time.monotonic() + 20
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if running[-1].poll() is not None or time.monotonic() > until:
                        raise RuntimeError(f"no daemon: {(state / 'log').read_text()}") from None
                    time.sleep(0.05)
        yield ",".join(hosts)
    finally:
        for daemon in running:
            daemon.terminate()
        for daemon in running:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                raise RuntimeError("a daemon does not end on SIGTERM") from None


def play(case, program, daemon, schemas):
    """The complaints about one case."""
    with tempfile.TemporaryDirectory(prefix="ringtrue-cli-") as tmp, contextlib.ExitStack() as around:
        for name, content in case.get("files", {}).items():
            pathlib.Path(tmp, name).write_text(content)
        env = {"PATH": os.environ.get("PATH", ""), "HOME": tmp, "LC_ALL": "C.UTF-8"}
        # Sanitizers' options pass through.
        env |= {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}
        env |= case.get("env", {})
        hosts = around.enter_context(daemons(case.get("daemons", 0), daemon, tmp, env))
        args = [part.replace("{tmp}", tmp).replace("{hosts}", hosts) for part in shlex.split(case["args"])]
        command, where = [program, *args], subprocess.PIPE
        if case.get("to") == "closed":
            command = ["sh", "-c", 'exec "$0" "$@" >&-', *command]
        elif "memory" in case:
            command = ["sh", "-c", f'ulimit -v {case["memory"] * 1024} && exec "$0" "$@"', *command]
        elif "to" in case:
            where = open(case["to"], "w")
        try:
            done = subprocess.Popen(command, stdout=where, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                    env=env, cwd=tmp, start_new_session=True)
            if "interrupt" in case:
                time.sleep(case["interrupt"])
                os.killpg(done.pid, signal.SIGINT)
            out, err = done.communicate(timeout=case.get("timeout", 60))
        except subprocess.TimeoutExpired:
            done.kill()
            done.communicate()
            return ["did not end in time"]
        out = (out or b"").decode(errors="replace")
        err = err.decode(errors="replace")
        wrong = []
        if done.returncode != case["exit"]:
            wrong.append(f"exit code {done.returncode}, not {case['exit']}")
        for stream, text in (("stdout", out), ("stderr", err)):
            for pattern in case.get(stream, []):
                if not re.search(pattern, text, re.M):
                    wrong.append(f"{stream} has no {pattern!r}")
        for pattern in case.get("absent", []):
            if re.search(pattern, out + err, re.M):
                wrong.append(f"there is a {pattern!r}")
        for line in out.splitlines():
            if len(line) > case.get("widest", len(line)):
                wrong.append(f"{len(line)} columns: {line!r}")
        # Bad input is told in one line.
        if case["exit"] == 3 and "lines" not in case and len(err.strip().splitlines()) != 1:
            wrong.append("not one line on stderr")
        # With --json, whatever fails says so in a document as well.
        if case["exit"] == 3 and "--json" in args and where is subprocess.PIPE and case.get("to") != "closed":
            wrong += failure_departures(out, schemas)
        if "schema" in case:
            try:
                value = json.loads(out)
            except ValueError as error:
                return wrong + [f"stdout is not JSON: {error}", out[:500], err[:500]]
            schema = json.loads(pathlib.Path(schemas, case["schema"] + ".json").read_text())
            wrong += departures(schema, value)[:5]
            for path, expected in case.get("values", {}).items():
                try:
                    got = at(value, path)
                except (KeyError, IndexError, TypeError):
                    wrong.append(f"no {path}")
                    continue
                if expected == "null":
                    expected = None
                close = isinstance(expected, float) and got is not None and abs(got - expected) <= 1e-6 * abs(expected)
                if got != expected and not close:
                    wrong.append(f"{path} is {got!r}, not {expected!r}")
        if wrong:
            wrong += ["stdout: " + out[:800], "stderr: " + err[:800]]
        return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ringtrue", required=True)
    parser.add_argument("--ringtrued", required=True)
    parser.add_argument("--schemas", required=True)
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    cases = tomllib.loads((HERE / "cases.toml").read_text())["case"]
    cases = [one for case in cases for one in spread(case, options.ringtrue)]
    names = [case["name"] for case in cases]
    assert len(names) == len(set(names)), "two cases have one name"
    sanitized = b"__sanitizer" in pathlib.Path(options.ringtrue).read_bytes()
    failed, played, skipped, chosen = 0, 0, 0, []
    for case in cases:
        if options.match not in case["name"]:
            continue
        if case.get("unprivileged") and os.geteuid() == 0:
            print(f"SKIPPED {case['name']}: root may read everything")
            skipped += 1
            continue
        there = glob.glob(case.get("unless", ""))
        if there:
            print(f"SKIPPED {case['name']}: there is {there[0]}")
            skipped += 1
            continue
        if "memory" in case and sanitized:
            print(f"SKIPPED {case['name']}: sanitizers take more")
            skipped += 1
            continue
        chosen.append(case)

    def one(case):
        return play(case, options.ringtrue, options.ringtrued, options.schemas)

    # What is played for many words is short, and beside one another; the others may measure, and are alone.
    chosen.sort(key=lambda case: "each" not in case)
    many = [case for case in chosen if "each" in case]
    if sanitized and not options.match:  # ten times as slow, and all alike: a sample
        many, chosen = many[::8], many[::8] + chosen[len(many):]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(one, many))
    for case in chosen:
        wrong = outcomes[played] if played < len(many) else one(case)
        played += 1
        if wrong:
            failed += 1
            print(f"FAILED {case['name']}: ringtrue {case['args']}")
            for line in wrong:
                print("    " + line.rstrip().replace("\n", "\n    "))
    print(f"{played} cases, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not played else 0)


if __name__ == "__main__":
    main()
