"""Write down what today's version writes, and what all stored histories come to: `python -m tests.histories`.

A history of a version that is stored is never written again. Of the version in force the events are added anew, because
fields with defaults may be added to them; the log stays as it was written first.
"""

import json

from events.rules import RULES
from ops.sandbox.bench.day import played, small_day
from tests.histories.pins import PINS, decisions, read_pins, states
from tests.histories.samples import one_of_each
from tests.histories.stored import HERE, LOGS, read_history, versions, write_events, write_history


def main() -> None:
    """Add to what is stored, and pin it."""
    if not (HERE / RULES / LOGS).exists():
        write_history(RULES, played(small_day(0))[0])
    write_events(RULES, one_of_each())
    histories = {version: read_history(version) for version in versions()}
    pins = read_pins()
    pins["states"] = {
        f"{version} {partition}": one for version, log in histories.items() for partition, one in states(log).items()
    }
    pins["decisions"][RULES] = decisions(histories)
    PINS.write_text(json.dumps(pins, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
