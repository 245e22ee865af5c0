"""One load of Kueue's own benchmark runner, with Kueue or with kuelog: `python -m tests.peers.beside_kueue kuelog --part 5`.

The runner starts an API server of its own, creates Kueue's definitions, queues and workloads, and ends each workload some time
after it sees it admitted, by server-side apply. Figures count beside those of another run in the same hour on the same machine.
`make peers` builds what this needs.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec
import psutil
import yaml

from tests.peers.build import API_SERVER, KUEUE, LOAD, PEERS
from tests.places import KUEUE_DEFINITIONS, ROOT

QUIET = 1.5
MANAGERS = ("kueue", "kuelog")


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """Of the workloads of one class: how many there were, how long they waited on average, how often they were evicted."""

    count: int
    to_admission_s: float
    evictions: int


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What one run measured."""

    manager: str
    wall_s: float
    """From the manager's start until the runner has seen everything end."""
    waits: dict[str, Waits]
    finished: int
    cpu_s: dict[str, float]
    """By program, of the control plane and of the manager's processes."""
    peak_mib: dict[str, float]
    conditions: dict[str, int]
    """By type and status, how many workloads have the condition at the end."""
    requests: dict[str, int]
    """By what they ask for and the answer's code, how many the API server has got of everybody."""
    load_before: float
    load_after: float


def measure(manager: str, *, load: Path, part: int, kuelog: Path, definitions: Path, peers: Path, out: Path) -> Figures:
    """Run the load once. Raises `SystemExit` with what the runner said where it failed."""
    generated, content = out / "load.yaml", yaml.safe_load(load.read_text())
    if not isinstance(content, dict) or "cohorts" not in content:
        sys.exit(f"beside_kueue: {load} has no `cohorts:`: it is of another version of the runner")
    generated.write_text(yaml.safe_dump({**content, "cohorts": _part_of(content["cohorts"], part)}))
    topology = ["-enableTAS"] if "topology" in content else []
    command = (
        [str(peers / KUEUE / "minimalkueue"), "--kubeconfig", "{kubeconfig}", *topology]
        if manager == "kueue"
        else [str(kuelog), "up", "--kubeconfig", "{kubeconfig}", "--data", str(out / "kuelog")]
    )
    started = out / "manager"
    started.write_text(
        f"#!/bin/sh\ncd {ROOT}\nexec {sys.executable} -m tests.peers.measured_manager {out} {json.dumps(json.dumps(command))} $2\n"
    )
    started.chmod(0o755)
    before = psutil.getloadavg()[0]
    with (out / "runner.log").open("wb") as log:
        words = f"-o={out} -crds={definitions} -generatorConfig={generated} -minimalKueue={started} -qps=1000 -burst=2000 -timeout=60m"
        ran = subprocess.run(
            [str(peers / KUEUE / "runner"), *words.split(), *topology],
            env={**os.environ, "KUBEBUILDER_ASSETS": str(peers / API_SERVER)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=False,
        )
    if ran.returncode:
        sys.exit(f"beside_kueue: the runner failed: see {out / 'runner.log'}")
    measured = json.loads((out / "measured.json").read_text())
    summary: dict[str, Any] = yaml.safe_load((out / "summary.yaml").read_text())
    with (out / "wlStates.csv").open() as rows:
        workloads = list(csv.DictReader(rows))
    return Figures(
        manager=manager,
        wall_s=measured["wall_s"],
        waits={
            name: Waits(
                count=one["count"],
                to_admission_s=one["averageTimeToAdmissionMs"] / 1000,
                evictions=one["totalEvictions"],
            )
            for name, one in summary["workloadClasses"].items()
        },
        finished=sum(int(one["ms to finish"]) > 0 for one in workloads),
        cpu_s=measured["cpu_s"],
        peak_mib=measured["peak_mib"],
        conditions=measured["conditions"],
        requests=measured["requests"],
        load_before=before,
        load_after=psutil.getloadavg()[0],
    )


def _part_of(load: list[dict[str, Any]], part: int) -> list[dict[str, Any]]:
    """The load with a part of its workloads; queues and intervals stay."""
    for cohort in load:
        for queues in cohort["queuesSets"]:
            for workloads in queues["workloadsSets"]:
                workloads["count"] //= part
    return load


def main() -> None:
    """Run one load, and print what it measured as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers.beside_kueue", description=__doc__)
    parser.add_argument("manager", choices=MANAGERS)
    parser.add_argument("--load", type=Path, default=PEERS / KUEUE / LOAD, help="a generator file of that runner")
    parser.add_argument("--part", type=int, default=1, help="one in so many of the workloads of each class")
    parser.add_argument("--kuelog", type=Path, default=Path(sys.executable).parent / "kuelog", help="another kuelog")
    parser.add_argument("--definitions", type=Path, default=KUEUE_DEFINITIONS)
    parser.add_argument("--peers", type=Path, default=PEERS, help="where `make peers` has put its programs")
    parser.add_argument("--out", type=Path, default=None, help="where logs and figures stay; a new folder if none")
    given = parser.parse_args()
    out: Path = (given.out or Path(mkdtemp(prefix="beside-kueue-"))).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    if (load := psutil.getloadavg()[0]) > QUIET:
        print(f"beside_kueue: something else runs on this machine (load {load:.1f}): times say little", file=sys.stderr)
    figures = measure(
        given.manager,
        load=given.load,
        part=given.part,
        kuelog=given.kuelog.resolve(),
        definitions=given.definitions.resolve(),
        peers=given.peers.resolve(),
        out=out,
    )
    print(msgspec.json.format(msgspec.json.encode(figures), indent=2).decode())
    print(f"logs: {out}", file=sys.stderr)


if __name__ == "__main__":
    main()
