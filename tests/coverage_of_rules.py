"""`python -m tests.coverage_of_rules`: which share of the pure floors' lines their own tests run, written to `figures.json`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.figures import keep
from tests.places import ROOT

FLOORS = ("events", "projections", "services")
TESTS = ("tests/events", "tests/projections", "tests/services", "tests/cases")


def main() -> int:
    """Run the tests under coverage, and keep the figure of each floor; their own status when they fail."""
    with tempfile.TemporaryDirectory(prefix="coverage-") as folder:
        coverage = [sys.executable, "-m", "coverage"]
        data = f"--data-file={Path(folder) / 'data'}"
        run = [*coverage, "run", data, f"--source={','.join(FLOORS)}", "-m", "pytest", *TESTS]
        status = subprocess.run(run, cwd=ROOT, check=False).returncode
        if status:
            return status
        for floor in FLOORS:
            report = [*coverage, "report", data, f"--include={floor}/*", "--format=total", "--precision=1"]
            total = subprocess.run(report, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
            keep("coverage", floor, f"{total} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
