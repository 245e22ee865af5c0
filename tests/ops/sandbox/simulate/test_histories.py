"""A simulated history follows from its seed alone, byte for byte, and comes to rest."""

import subprocess
import sys

from ops.sandbox.simulate.fault_plan import FaultKind, schedule_of
from ops.sandbox.simulate.history import play
from tests.places import ROOT

SPAN = 60_000


def test_the_same_seed_gives_the_same_log_to_the_byte() -> None:
    faults = schedule_of(3, SPAN)
    assert play(3, SPAN, faults) == play(3, SPAN, faults)


def test_another_seed_gives_another_log() -> None:
    assert play(1, SPAN, []).digest != play(2, SPAN, []).digest


WRITE = """
from ops.sandbox.simulate.fault_plan import schedule_of
from ops.sandbox.simulate.history import play
print(*(play(seed, 60_000, schedule_of(seed, 60_000)).digest for seed in (1, 2)))
"""


def test_a_history_is_the_same_under_any_hash_seed() -> None:
    def run(seed: str) -> str:
        env = {"PYTHONHASHSEED": seed, "PATH": "", "PYTHONPATH": str(ROOT), "KUELOG_LOG": "critical"}
        return subprocess.run(
            [sys.executable, "-c", WRITE], cwd=ROOT, capture_output=True, text=True, check=True, env=env
        ).stdout.splitlines()[-1]

    assert run("1") == run("4711")


def test_leaving_a_kind_of_fault_out_leaves_the_others_as_they_are() -> None:
    whole = schedule_of(5, SPAN)
    without = schedule_of(5, SPAN, [kind for kind in FaultKind if kind is not whole[0].kind])
    assert without == [one for one in whole if one.kind is not whole[0].kind]
