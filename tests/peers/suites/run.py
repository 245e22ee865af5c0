"""Kueue's own integration suites with kuelog in the place of its controllers: `python -m tests.peers.suites.run scheduler tas`.

Each runs before a real API server of its own, against its definitions and its specs as they are; only who decides is another.
docs/rules/README.md#suites says what is meant to differ. `--theirs` has Kueue's own controllers decide, as in its own CI.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from tests.peers.build import CONTROL_PLANE, PEERS
from tests.peers.suites.meant import meant, meant_ends
from tests.peers.suites.needs import BEFORE_WEBHOOKS, focus_of
from tests.peers.suites.prepared import TextMissing, compiled, prepared
from tests.peers.suites.reported import Spec, expected, specs
from tests.places import ROOT

SUITES = (
    "scheduler",
    "scheduler/fairsharing",
    "scheduler/podsready",
    "scheduler/delayedadmission",
    "scheduler/inadmissible",
    "scheduler/excluderesources",
    "scheduler/resourcetransformations",
    "tas",
    "webhook/core",
    "webhook/jobs",
    "conversion",
    "controller/jobs/job",
    "controller/jobs/pod",
    "controller/jobs/jobset",
    "controller/jobs/mpijob",
    "controller/jobs/rayjob",
    "controller/jobs/raycluster",
    "controller/jobs/pytorchjob",
    "controller/jobs/tfjob",
    "controller/jobs/xgboostjob",
    "controller/jobs/paddlejob",
    "controller/jobs/jaxjob",
    "controller/jobs/appwrapper",
    "controller/dra",
    "importer",
    "multikueue",
    "multikueue/scheduler",
    "multikueue/tas",
)
"""Those that are run where none is named."""
_GIVES_WAY_S = 10.0


class Outcome(msgspec.Struct, frozen=True):
    """What became of a suite."""

    suite: str
    specs: list[Spec]
    seconds: float

    @property
    def unmeant(self) -> list[Spec]:
        return [one for one in self.specs if one.failed and not meant(self.suite, one.name)]

    def describe(self) -> str:
        if not self.specs:
            return f"{self.suite}: it reported nothing"
        passed, known = sum(one.passed for one in self.specs), sum(self._known(one) for one in self.specs)
        skipped = sum(one.left_out and not self._known(one) for one in self.specs)
        return f"{self.suite}: {passed} passed, {len(self.unmeant)} failed, {known} meant to fail, {skipped} skipped, in {self.seconds:.0f} s"

    def _known(self, spec: Spec) -> bool:
        """Whether it is meant to fail, and was left out, or did."""
        return not spec.passed and bool(meant(self.suite, spec.name))


def played(suite: str, program: Path, module: Path, folder: Path, given: argparse.Namespace) -> Outcome:
    """Run a suite in its folder, and in one beside it those of its specs that are run before the webhooks alone."""
    alone = BEFORE_WEBHOOKS.get(suite, "")
    if not alone or given.focus or given.theirs:
        return _played(suite, program, module, folder, given)
    beside = folder.with_name(f"{folder.name}_before_webhooks")
    beside.mkdir()
    whole = _played(suite, program, module, folder, given, skip=alone)
    part = _played(suite, program, module, beside, given, focus=alone)
    ran = {one.name: one for one in part.specs if not one.left_out}
    return Outcome(suite, [ran.get(one.name, one) for one in whole.specs], whole.seconds + part.seconds)


def _played(
    suite: str, program: Path, module: Path, folder: Path, given: argparse.Namespace, *, focus: str = "", skip: str = ""
) -> Outcome:
    """Run a suite, with that `focus` before webhooks alone, and end whatever it has started."""
    words = [str(program), "--ginkgo.no-color", f"--ginkgo.json-report={folder / 'report.json'}"]
    words += [f"--ginkgo.timeout={given.limit}s"]
    if focused := focus or given.focus or focus_of(suite):
        words.append(f"--ginkgo.focus={focused}")
    skipped = [skip, "" if given.meant or given.theirs else meant_ends(suite)]
    words += [f"--ginkgo.skip={one}" for one in skipped if one]
    told = {
        **os.environ,
        "KUBEBUILDER_ASSETS": str(given.peers / CONTROL_PLANE),
        "PROJECT_DIR": str(module / "unused"),  # The folder that it lies in is meant.
        "ARTIFACTS": str(folder),
    }
    if not given.theirs:
        told["KUELOG_SUITE_PYTHON"], told["KUELOG_SUITE_ROOT"] = sys.executable, str(ROOT)
        told["KUELOG_SUITE_NAME"], told["KUELOG_SUITE_FOLDER"] = suite, str(folder)
        told["KUELOG_SUITE_SERVICES"] = "" if focus else "all"
    began = time.monotonic()
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            words, cwd=folder, env=told, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        try:
            process.wait(given.limit + 120)
        except subprocess.TimeoutExpired:
            print(f"{suite}: it was killed", flush=True)
        finally:
            _end(process, folder)
    return Outcome(suite, specs(folder / "report.json"), time.monotonic() - began)


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    """End what is left of a suite: processes of its session, and those that name the folder of its kuelog."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + _GIVES_WAY_S
        while (left := list(_left(process.pid, folder))) and time.monotonic() < until:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, sign)
            process.poll()
            time.sleep(0.2)


def _left(session: int, folder: Path) -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            told = (entry / "stat").read_text().rpartition(")")[2].split()
            named = f"{folder}/kuelog-" in (entry / "cmdline").read_text()
            if told[0] != "Z" and (int(told[3]) == session or named) and int(entry.name) != os.getpid():
                yield int(entry.name)


def show(outcome: Outcome) -> None:
    """What became of it, and of each spec that failed."""
    print(outcome.describe(), flush=True)
    for one in outcome.specs:
        if one.failed:
            location = one.failure.location
            why = meant(outcome.suite, one.name)
            print(f"  {'meant: ' if why else ''}{one.name}")
            print(f"    {Path(location.file_name).name}:{location.line_number}  {why or expected(one.failure)}")


def main() -> int:
    """Run the suites one after the other; 0 where no spec failed but those that are meant to."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers.suites.run", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="by its folder, such as scheduler/fairsharing")
    parser.add_argument("--focus", default="", help="only specs whose whole name matches this expression")
    parser.add_argument("--meant", action="store_true", help="also specs that are meant to fail")
    parser.add_argument("--theirs", action="store_true", help="with Kueue's own controllers")
    parser.add_argument("--out", type=Path, help="where logs and reports are kept; else they are forgotten")
    parser.add_argument("--limit", type=int, default=3600, help="how many seconds a suite may take")
    parser.add_argument("--peers", type=Path, default=PEERS, help="where `make peers` has put its programs")
    given = parser.parse_args()
    given.peers = given.peers.resolve()
    signal.signal(
        signal.SIGTERM, lambda _signal, _frame: sys.exit(128 + signal.SIGTERM)
    )  # What it has started ends, too.
    suites, into = given.suites or SUITES, PEERS / "suites"
    try:
        module = prepared(into)
        programs = compiled(suites, into)
    except (TextMissing, subprocess.CalledProcessError) as failed:
        sys.exit(f"suites: {failed}")
    outcomes: list[Outcome] = []
    with TemporaryDirectory(prefix="kuelog-suites-") as parent:
        for suite, program in zip(suites, programs, strict=True):
            folder = (given.out or Path(parent)).resolve() / suite.replace("/", "_")
            folder.mkdir(parents=True)
            outcomes.append(played(suite, program, module, folder, given))
            show(outcomes[-1])
    for one in outcomes:
        print(one.describe())
    return 1 if any(one.unmeant or not one.specs for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
