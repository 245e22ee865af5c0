"""A site whose bus is a leaf node of a hub: cut off it decides alone, and its log at the hub is audited, replayed and billed all the same."""

import asyncio
import json
from pathlib import Path

from ops.production.archive.backup import make_backup
from ops.production.archive.history import History, read_everything
from ops.production.archive.proof.witness import HeadWitness
from ops.production.archive.restore import restore_backup
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import PARTITION, SOLE
from ops.queries.replay import fold_partition
from services.runtime.own_task import stopped
from tests.ops.cli.test_command_line import kuelog
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.sites import SITE, HubAndSite, at
from tests.stage.stage import Stage, job
from tests.stories.test_checks import workload
from tests.stories.test_multikueue import delegated, managing


async def test_a_site_that_is_cut_off_decides_alone_and_what_it_decided_is_delivered_audited_and_billed_at_the_hub(
    tmp_path: Path,
) -> None:
    both = HubAndSite(tmp_path)
    await both.start_hub()
    try:
        async with asyncio.timeout(150), Stage(tmp_path / "manager") as stage:
            east = KuelogWorker(SITE, tmp_path, stage.clock)
            east.stage.server = both.server_of_site(tmp_path / "site")
            async with managing(stage, [east]):
                await both.copies_kept()
                await stage.add(delegated("sent", 36000))
                await stage.until(lambda: stage.running("sent"))
                await stage.until(lambda: workload(stage).get("status", {}).get("clusterName") == SITE)
                both.line.cut()
                await east.stage.add(job("local", 36000))
                await east.stage.until(lambda: bool(workload_of(east.stage, "local")))
                await east.stage.end_pods("sent")
                await east.stage.until(lambda: east.stage.running("local"))
                alone = await read_everything(east.stage.bus)
                async with at(both.copy()) as reader:
                    behind = await read_everything(reader)
                assert len(behind[PARTITION]) < len(alone[PARTITION]), "nothing is delivered while the line is cut"
                both.line.mend()
                await stage.until(lambda: stage.complete("sent"))
                for task in east.stage.tasks:
                    await stopped(task)
                own = await read_everything(east.stage.bus)
                for name, entries in own.items():
                    await both.copied(name, len(entries))
                # From here on the site is off, and what it decided is at the hub.
                await east.stage.server.stop()
                async with at(both.copy()) as reader:
                    copied = await read_everything(reader)
                    await make_backup(
                        reader, tmp_path / "hub-witness", str(tmp_path / "none"), str(tmp_path / "backup")
                    )
                assert copied == own, "the same messages under the same sequences, none twice and none missing"
                _, replayed = fold_partition(PARTITION, copied, verify=True)
                assert replayed.commits > len(behind[PARTITION])
                assert not replayed.differences
                asked = (f"--nats={stage.server.url}", f"--worker={SITE}={both.copy()}")
                held, bill = await asyncio.gather(
                    asked_of("audit", "verify", *asked, f"--witness={await signed(stage)}"),
                    asked_of("bill", *asked, "-o", "json"),
                )
                assert await restored(tmp_path) == own, "the site's log is put back from its copy"
                assert f"of {SITE} cited, all there" in held
                assert {line["cluster"] for line in json.loads(bill)["lines"]} == {SITE}
    finally:
        await both.stop()


async def restored(folder: Path) -> History:
    """What a site that has lost its disk gets back from a backup of its copy."""
    server = NatsServer(folder / "anew")
    await server.start()
    try:
        async with at(server.url) as bus:
            await restore_backup(str(folder / "backup"), bus, folder / "anew-witness", str(folder / "anew-archive"))
            return await read_everything(bus)
    finally:
        await server.stop()


def workload_of(stage: Stage, name: str) -> list[str]:
    """The workloads of a Job."""
    return [
        one["metadata"]["name"]
        for one in stage.of("workloads.kueue.x-k8s.io")
        if any(owner["name"] == name for owner in one["metadata"].get("ownerReferences", ()))
    ]


async def signed(stage: Stage) -> Path:
    """The folder of a witness that has signed the manager's log."""
    witness = HeadWitness(stage.folder / "witness")
    for name in SOLE.witnessed:
        await witness.witness(await stage.bus.stream(name))
    return stage.folder / "witness"


async def asked_of(*words: str) -> str:
    """What a command prints that ends well; a bill without prices says so by its exit code."""
    done = await asyncio.to_thread(kuelog, *words)
    assert done.returncode == (1 if words[0] == "bill" else 0), done.stdout + done.stderr
    return done.stdout
