"""`python -m tests.figures`: the version, and the figures of coverage and mutation that were measured last (`figures.json`).

`make coverage` and `make mutants` measure them anew and write them there. They are no part of `make test`: under coverage the
suite would take half as long again, and a mutant takes a run of its tests.
"""

import json
from importlib.metadata import version

from tests.places import ROOT

FILE = ROOT / "tests" / "figures.json"


def keep(kind: str, name: str, figure: str) -> None:
    """Write down what was measured of one area."""
    figures = json.loads(FILE.read_text())
    figures[kind]["measured"][name] = figure
    FILE.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n")


def lines() -> list[str]:
    """What CI says at its end."""
    found = [f"kuelog {version('kuelog')}"]
    for kind, one in json.loads(FILE.read_text()).items():
        measured = ", ".join(f"{name} {figure}" for name, figure in one["measured"].items())
        found.append(f"{kind} (last measured by `{one['command']}`): {measured}")
    return found


if __name__ == "__main__":
    print("\n".join(lines()))
