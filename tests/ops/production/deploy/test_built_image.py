"""The image itself, built from the lock file and started, where there is something to build it with."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from ops.production.log.server.server import NatsServer
from tests.peers.image import IMAGE, build, buildah, run, why_not
from tests.stage.ports import reserved_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def container() -> Iterator[str]:
    """A container of the image as the code is now."""
    if missing := why_not():
        pytest.skip(missing)
    build()
    name = run("from", IMAGE).strip()
    yield name
    run("rm", name)


def within(container: str, *words: str) -> list[str]:
    """A command as it runs in the container, as its user and on the network of this machine."""
    return buildah("run", "--isolation", "chroot", container, "--", *words)


def test_the_image_says_what_it_can_and_runs_as_nobody_who_may_write_to_it(container: str) -> None:
    done = subprocess.run(within(container, "kuelog", "--help"), capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Job admission for Kubernetes" in done.stdout, done.stderr
    done = subprocess.run(within(container, "id", "-u"), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "65532"
    done = subprocess.run(within(container, "touch", "/opt/kuelog/x"), capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "Permission denied" in done.stderr
    assert '"Entrypoint": [\n                "kuelog"\n' in run("inspect", "--type", "image", IMAGE)


async def test_a_service_of_the_image_becomes_ready_on_a_real_bus(container: str, tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    try:
        made = within(container, "kuelog", "deploy", "streams", "--nats", server.url, "--partitions", "2")
        setup = await asyncio.create_subprocess_exec(*made, "--replicas", "1", "--max-bytes", str(16 << 20))
        assert await setup.wait() == 0
        port = reserved_port()
        serving = within(container, "kuelog", "run", "admitter", "--nats", server.url, "--partition", "LOG_1")
        process = await asyncio.create_subprocess_exec(*serving, "--health", str(port), start_new_session=True)
        try:
            async with aiohttp.ClientSession() as session, asyncio.timeout(120):
                while await _ready(session, port) != "ok\n":
                    assert process.returncode is None
                    await asyncio.sleep(0.2)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            await process.wait()
    finally:
        await server.stop()


async def _ready(session: aiohttp.ClientSession, port: int) -> str:
    try:
        async with session.get(f"http://127.0.0.1:{port}/readyz") as answer:
            return await answer.text()
    except aiohttp.ClientConnectionError:
        return ""
