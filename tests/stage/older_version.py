"""An older version of kuelog, as the repository remembers it, and services of it as processes."""

import asyncio
import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from tests.stage.processes import PATIENCE_S, Order, end_of

_REPOSITORY = Path(__file__).parents[2]
_COMMAND = "from ops.cli.main import main; main()"


class UnknownVersion(Exception):
    """The repository does not remember the version: it is none, or a clone of its last commits alone."""


def write_older_version(revision: str, folder: Path) -> None:
    """Lay down the code of a revision. Raises `UnknownVersion` where the repository has it not."""
    found = subprocess.run(
        ["git", "archive", revision, "events", "projections", "services", "ops"],
        cwd=_REPOSITORY,
        capture_output=True,
        check=False,
    )
    if found.returncode:
        raise UnknownVersion(f"{revision}: {found.stderr.decode().strip()}")
    with tarfile.open(fileobj=BytesIO(found.stdout)) as files:
        files.extractall(folder, filter="data")


class OlderServiceProcess:
    """One process of an older version: `kuelog run`, for the command line is what versions have in common."""

    def __init__(self, order: Order, log: Path, code: Path) -> None:
        self.order, self._log = order, log
        log.parent.mkdir(parents=True, exist_ok=True)
        words = ["run", order.service, "--nats", order.nats, "--kubeconfig", order.kubeconfig]
        words += ["--scale", str(order.scale), *(["--witness", order.witness] if order.witness else [])]
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _COMMAND, "--log", "error", *words],
                env={**os.environ, "PYTHONPATH": str(code)},
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    @property
    def serves(self) -> bool:
        """Whether it goes on: what it has said is not known."""
        return self._process.poll() is None

    @property
    def told(self) -> str:
        """The end of what it has logged."""
        return end_of(self._log)

    async def serving(self) -> None:
        """Wait until it says that it serves: the first line that it prints."""
        said = self._process.stdout
        if said is not None:
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.to_thread(said.readline)

    async def kill(self) -> None:
        """SIGKILL, whatever it is doing."""
        self._process.kill()
        await self._ended()

    async def stop(self) -> int:
        """SIGTERM, as the kubelet ends a pod; its exit code."""
        self._process.terminate()
        return await self._ended()

    async def _ended(self) -> int:
        code = await asyncio.to_thread(self._process.wait)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code
