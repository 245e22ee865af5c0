"""`python -m tests.conformance DIR [--suite NAME] [--json OUT]`: run recorded cases and say what agrees."""

import argparse
import json
import sys
from pathlib import Path

from tests.conformance.folders import suites_in
from tests.conformance.runner import report, run_suite


def main() -> int:
    """Run the cases of a folder; 0 when all agree."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with hami/ and kueue/, or one of them")
    parser.add_argument("--suite", default="", help="only suites whose name holds this")
    parser.add_argument("--json", type=Path, default=None, dest="out", help="write the result here")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        parser.error(f"{arguments.folder} is not a folder")
    suites = [suite for suite in suites_in(arguments.folder) if arguments.suite in suite.name]
    if not suites:
        parser.error(f"no recorded cases in {arguments.folder}" + (f" named {arguments.suite}" * bool(arguments.suite)))
    outcomes = []
    for suite in suites:
        outcome = run_suite(suite)
        outcomes.append(outcome)
        left_out = f" ({len(outcome.out_of_scope)} out of scope)" if outcome.out_of_scope else ""
        print(f"{outcome.name} {outcome.passed}/{outcome.total}{left_out}")
        for name, difference in outcome.failed.items():
            print(f"  {name}: {difference[:400]}")
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(report(outcomes), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"total {sum(o.passed for o in outcomes)}/{sum(o.total for o in outcomes)}")
    return 1 if any(outcome.failed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
