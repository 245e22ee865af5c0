"""What processes cost: CPU seconds and peak memory of a process and all that it has started."""

import asyncio
import os
from pathlib import Path

import msgspec
import psutil

_EVERY_S = 1.0


class ProcessUsage(msgspec.Struct, kw_only=True):
    """What one process and its children have used."""

    cpu_s: float = 0
    peak_mib: float = 0
    """The most that all of them held at one time, shared pages counted once for each."""


class Observed:
    """Processes whose use is looked at every second; what one of them used up to its end is kept."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._cpu: dict[int, float] = {}
        self._peak = 0

    @property
    def usage(self) -> ProcessUsage:
        """What was seen so far."""
        return ProcessUsage(cpu_s=sum(self._cpu.values()), peak_mib=self._peak / 1024 / 1024)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(_EVERY_S)

    def look(self) -> None:
        """Take note of what is used now."""
        held = 0
        try:
            processes = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in processes:
            try:
                times = process.cpu_times()
                held += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
            self._cpu[process.pid] = times.user + times.system
        self._peak = max(self._peak, held)


def own_peak_mib() -> float:
    """The most memory that this process has held."""
    return peak_mib_of(os.getpid())


def peak_mib_of(pid: int) -> float:
    """The most memory that a process has held, in MiB; what it holds now where the system does not know the most."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return psutil.Process(pid).memory_info().rss / (1 << 20)
    found = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")), "0")
    return int(found) / 1024
