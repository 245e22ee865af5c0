"""`kuelog replay --rules`: what another version of the rules, or other settings, would have decided, commit by commit.

Each commit is decided again on the state that was recorded up to it, so one difference does not breed the next; how things
would have gone on is what `kuelog whatif` plays. Another version runs its own `replay --verify` in a process of its own.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from events.settings import SettingsObserved
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import read_log
from ops.cli.questions.replay_rows import plain_differences, show_change
from ops.production.log.streams import streams_in
from ops.queries.point import point_at
from ops.queries.replay import fold_partition
from ops.queries.settings_change import BadChange, changed_settings, is_setting, observes_settings, with_settings
from ops.terminal.form import AnswerForm, print_answer
from projections.evolve import evolve
from projections.explanation.difference import DecisionDifference
from projections.log_position import LogPosition
from services.runtime.partition.fold import PartitionFold

_PATIENCE_S = 3600


def run_other_rules(
    source: LogSource, rules: Sequence[str], *, until: str, output: AnswerForm, console: Console
) -> int:
    """Print every decision that comes out otherwise; 0 when none does, 1 when some do."""
    with known_failures() as outcome:
        settings = [one for one in rules if is_setting(one)]
        places = [one for one in rules if not is_setting(one)]
        if len(places) > 1 or (places and settings):
            raise BadChange("--rules takes one checkout or wheel, or settings as FIELD=VALUE, not both")
        if places:
            partitions = _by_other_version(Path(places[0]), source, until)
        else:
            partitions = _under_settings(source, settings, until)
        if output is not AnswerForm.TEXT:
            print_answer(partitions, output)
        else:
            _show(partitions, console)
        outcome.code = 1 if any(partition["differences"] for partition in partitions) else 0
    return outcome.code


def _under_settings(source: LogSource, words: Sequence[str], until: str) -> list[dict[str, Any]]:
    point = point_at(read_log(source), until)
    entries = with_settings(point.entries, words)
    partitions: list[dict[str, Any]] = []
    for partition in streams_in(entries).partitions:
        start = PartitionFold(partition)
        if not observes_settings(entries):
            fact = changed_settings(SettingsObserved(), words)
            evolve(start.world, fact, LogPosition(partition="FACTS", sequence=0, at=0))
            start.world.settle()
        _, result = fold_partition(partition, entries, verify=True, start=start)
        partitions.append(
            {"partition": partition, "verified": result.verified, "differences": plain_differences(result)}
        )
    return partitions


def _by_other_version(place: Path, source: LogSource, until: str) -> list[dict[str, Any]]:
    """Ask another kuelog: what it says of the same log is its own answer, not ours."""
    where = place.resolve()
    if not (where / "ops" / "cli" / "main.py").is_file() and where.suffix != ".whl":
        raise BadChange(f"{place} is neither a checkout nor a wheel of kuelog: there is no ops/cli/main.py in it")
    words = ["replay", "--verify", "-o", "json", *(["--until", until] if until else [])]
    words += ["--nats", source.nats] if source.nats else []
    words += ["--data", str(source.folder.resolve())] if source.folder is not None and not source.nats else []
    words += ["--archive", source.archive] if source.archive else []
    code = f"import sys; sys.path.insert(0, {str(where)!r}); from ops.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *words], capture_output=True, text=True, timeout=_PATIENCE_S, check=False
    )
    try:
        partitions: list[dict[str, Any]] = msgspec.json.decode(done.stdout)
    except msgspec.DecodeError as problem:
        output = (done.stdout + done.stderr).strip().splitlines()
        if "No such option: --archive" in done.stderr:
            output = ["that version knows no archives: name the log with --data or --nats alone"]
        raise BadChange(f"{place} can't replay this log: {output[-1] if output else 'it said nothing'}") from problem
    # Kuelogs before this one call a partition a lane.
    return [{"partition": one.pop("lane", ""), **one} for one in partitions]


def _show(partitions: Sequence[dict[str, Any]], console: Console) -> None:
    for partition in partitions:
        differences = partition["differences"]
        of = partition.get("verified") or partition.get("commits", 0)
        console.print(f"{partition['partition']}: {len(differences)} of {of} commits would have been decided otherwise")
        for one in differences:
            console.print(
                f"  {partition['partition']}/{one['sequence']} by {one['author']}", style="bold", highlight=False
            )
            for change in one.get("changes", ()):
                show_change(
                    DecisionDifference(**{name: change[name] for name in DecisionDifference.__struct_fields__}), console
                )
            if "changes" not in one:
                console.print(f"    - {one['recorded']}\n    + {one['decided']}", markup=False, soft_wrap=True)
