"""What the benchmark runner starts in a manager's place: the manager, and beside it who counts what it takes.

python -m tests.peers.measured_manager OUT COMMAND KUBECONFIG
"""

import asyncio
import json
import signal
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import psutil
from prometheus_client.parser import text_string_to_metric_families

from ops.production.kubernetes.client import connect
from ops.production.kubernetes.reflector import Reflector
from ops.sandbox.bench.cluster_objects import WORKLOADS
from services.runtime.cluster_port import Listed

EVERY_S = 0.5
REQUESTS = "apiserver_request_total"
GROUPS = ("kueue.x-k8s.io", "events.k8s.io", "batch", "")
RUNNER = "runner"


class Meter:
    """What processes take: the manager with its children, and the control plane that the runner has started."""

    def __init__(self, manager: psutil.Process) -> None:
        self._manager, self._runner = manager, psutil.Process().parent()
        self.cpu_s: dict[str, float] = {}
        self.peak_mib: dict[str, float] = {}

    def read(self) -> None:
        """Take note of what they have taken so far."""
        now: defaultdict[str, float] = defaultdict(float)
        memory: defaultdict[str, float] = defaultdict(float)
        own = [self._manager, *self._manager.children(recursive=True)]
        beside = self._runner.children() if self._runner is not None else []
        for one in (*own, *beside):
            try:
                name, times = one.name(), one.cpu_times()
                if one in own or name in ("etcd", "kube-apiserver"):
                    now[name] += times.user + times.system
                    memory[name] += one.memory_info().rss / 2**20
            except psutil.NoSuchProcess:
                continue
        for name, taken in now.items():
            self.cpu_s[name] = round(max(self.cpu_s.get(name, 0.0), taken), 2)
            self.peak_mib[name] = round(max(self.peak_mib.get(name, 0.0), memory[name]), 1)


async def conditions(kubeconfig: str) -> Counter[str]:
    """By type and status, how many workloads have the condition."""
    client = await connect(kubeconfig)
    found: Counter[str] = Counter()
    try:
        async for sight in Reflector(client).watch(WORKLOADS):
            if isinstance(sight, Listed):
                for one in sight.objects:
                    found.update(f"{c['type']}={c['status']}" for c in one.get("status", {}).get("conditions", ()))
                break
    finally:
        await client.close()
    return found


async def requests(kubeconfig: str) -> dict[str, int]:
    """By what they ask for, such as "PATCH workloads/status 200", how many requests the API server has answered, those of the runner too."""
    client = await connect(kubeconfig)
    found: Counter[str] = Counter()
    try:
        answer = await client.answer_to("GET", "/metrics", await client.headers(), None)
    finally:
        await client.close()
    samples = (one for family in text_string_to_metric_families(answer.body.decode()) for one in family.samples)
    for name, said, value, *_ in samples:
        if name == REQUESTS and said["group"] in GROUPS:
            of = said["resource"] + ("/" + said["subresource"] if said["subresource"] else "")
            found[f"{said['verb']} {of} {said['code']}"] += int(value)
    return dict(found.most_common())


async def run(out: Path, command: list[str], kubeconfig: str) -> None:
    """Run the manager until the runner has seen everything end, and leave what was measured in `measured.json`."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, ended.set)
    began = time.monotonic()
    with (out / "manager.log").open("wb") as log:
        manager = await asyncio.create_subprocess_exec(
            *(one.format(kubeconfig=kubeconfig) for one in command), stdout=log, stderr=log, start_new_session=True
        )
        meter = Meter(psutil.Process(manager.pid))
        while not ended.is_set():
            meter.read()
            try:
                await asyncio.wait_for(ended.wait(), EVERY_S)
            except TimeoutError:
                continue
        wall_s = round(time.monotonic() - began, 1)
        meter.read()
        found, asked = await conditions(kubeconfig), await requests(kubeconfig)
        manager.terminate()
        await manager.wait()
    measured = {
        "wall_s": wall_s,
        "cpu_s": meter.cpu_s,
        "peak_mib": meter.peak_mib,
        "conditions": found,
        "requests": asked,
    }
    (out / "measured.json").write_text(json.dumps(measured))


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]))
