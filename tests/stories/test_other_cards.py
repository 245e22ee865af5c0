"""Cards of Ascend and AMD in the demo cluster: jobs get exactly their cards, wait while these are taken, and are told so."""

from pathlib import Path

import pytest

from events.admission import AdmissionRefused
from events.catalogue import AnyEvent
from events.device import DevicesReserved, PodObserved
from ops.cli.log_options import LogSource
from ops.cli.log_reading import read_log
from ops.queries.stored import in_order
from tests.ops.cli.test_command_line import kuelog

Shares = set[tuple[str, str, int, int]]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[AnyEvent]:
    data = tmp_path_factory.mktemp("cards") / "run"
    done = kuelog("demo", "examples/other-cards", "--data", str(data), timeout=240)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [one.event for one in in_order(read_log(LogSource(data=Path(data))))]


def job_of(workload: str) -> str:
    return workload.removeprefix("lab/job-").rpartition("-")[0]


def reserved(events: list[AnyEvent]) -> dict[str, Shares]:
    return {
        job_of(event.workload): {
            (share.uuid, share.vendor, share.memory, share.cores)
            for one in event.placements
            for shares in one.containers
            for share in shares
        }
        for event in events
        if isinstance(event, DevicesReserved)
    }


def given(events: list[AnyEvent]) -> dict[str, Shares]:
    found: dict[str, Shares] = {}
    for event in events:
        if isinstance(event, PodObserved) and event.workload:
            own = {(each.uuid, each.vendor, each.memory, each.cores) for shares in event.shares for each in shares}
            found.setdefault(job_of(event.workload), set()).update(own)
    return found


def test_each_job_gets_its_cards_and_hami_gives_it_no_others(events: list[AnyEvent]) -> None:
    found = reserved(events)
    assert found["train"] == {(f"Ascend910B3-npu-1-{i}", "Ascend910B3", 65536, 0) for i in (0, 1)}
    assert found["render"] == {(f"AMD-amd-1-{i}", "AMD-Instinct MI300X", 80000, 152) for i in (0, 1)}
    assert {share[1:] for share in found["serve"]} == {("Ascend910B3", 16384, 0)}
    assert {share[1:] for share in found["tune"]} == {("AMD-Instinct MI300X", 80000, 182)}
    assert given(events) == found


def test_who_waits_for_such_a_card_is_told_so_in_numbers(events: list[AnyEvent]) -> None:
    refused: dict[str, AdmissionRefused] = {}
    for one in events:
        if isinstance(one, AdmissionRefused):
            refused.setdefault(job_of(one.workload), one)
    assert set(refused) == {"serve", "tune"}
    assert {one.reason for one in refused.values()} == {"WaitingForDevices"}
    assert "asked 1 Ascend910B3 card(s) with 16384 MiB" in refused["serve"].message
    assert "asked 1 AMD card(s) with 80000 MiB and 60 % of the cores each" in refused["tune"].message
