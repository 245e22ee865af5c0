"""What `make chaos FROM=REVISION` upgrades; the upgrade itself is played there, for it takes some minutes."""

from pathlib import Path

import pytest

from ops.production.crds.definitions import manifests
from ops.production.log.server.server import NatsServer
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from tests.chaos.__main__ import plans
from tests.stage.older_version import OlderServiceProcess, UnknownVersion, write_older_version
from tests.stage.processes import Order

_THIS = Path(__file__).parents[2]


def test_a_version_that_the_repository_does_not_remember_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnknownVersion, match="no-such-revision"):
        write_older_version("no-such-revision", tmp_path)
    with pytest.raises(SystemExit):
        plans(["--from", "no-such-revision"], tmp_path)
    assert "no-such-revision" in capsys.readouterr().err


@pytest.mark.slow
async def test_a_service_of_a_folder_of_code_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(clock=ScaledClock(), kubeconfig=tmp_path / "kubeconfig")
    for one in manifests():
        cluster.add(one)
    server = NatsServer(tmp_path / "nats")
    await cluster.start()
    await server.start()
    order = Order(service="watcher", nats=server.url, kubeconfig=str(tmp_path / "kubeconfig"), scale=1.0)
    older = OlderServiceProcess(order, tmp_path / "told" / "watcher.log", _THIS)
    try:
        await older.serving()
        assert older.serves, older.told
        assert await older.stop() == 0, older.told
        assert not older.serves
    finally:
        await older.kill()
        await server.stop()
        await cluster.stop()
