"""What a suite has reported of its specs: Ginkgo's report as JSON."""

import re
from pathlib import Path

import msgspec

_PASSED, _LEFT_OUT = "passed", ("skipped", "pending")
_WIDTH = 240


class Location(msgspec.Struct, frozen=True, rename="pascal"):
    """A line of a suite."""

    file_name: str = ""
    line_number: int = 0


class Failure(msgspec.Struct, frozen=True, rename="pascal"):
    """What was expected, and where."""

    message: str = ""
    location: Location = Location()


class Spec(msgspec.Struct, frozen=True, rename="pascal"):
    """What became of a spec, or of what is done before and after all of them."""

    state: str
    leaf_node_type: str = ""
    leaf_node_text: str = ""
    container_hierarchy_texts: tuple[str, ...] | None = None
    failure: Failure = Failure()

    @property
    def name(self) -> str:
        """Its whole name, in one line."""
        return " ".join((*(self.container_hierarchy_texts or ()), self.leaf_node_text or f"[{self.leaf_node_type}]"))

    @property
    def passed(self) -> bool:
        return self.state == _PASSED

    @property
    def left_out(self) -> bool:
        return self.state in _LEFT_OUT

    @property
    def failed(self) -> bool:
        return not self.passed and not self.left_out


class _Report(msgspec.Struct, frozen=True, rename="pascal"):
    spec_reports: tuple[Spec, ...] | None = None


def specs(report: Path) -> list[Spec]:
    """The specs of a report, and whatever else failed; none where there is no report, as of a suite that was killed."""
    if not report.exists():
        return []
    found = msgspec.json.decode(report.read_bytes(), type=tuple[_Report, ...])
    told = [spec for one in found for spec in one.spec_reports or ()]
    return [spec for spec in told if spec.leaf_node_type == "It" or spec.failed]


def expected(failure: Failure) -> str:
    """In one line what was expected: the line of the suite, where it is helped by others the line of the helper, and how what came differs."""
    location = failure.location
    said = [_line(location.file_name, location.line_number)]
    helper = re.search(r"failed at (\S+?):(\d+)", failure.message)
    if helper and (helper[1], int(helper[2])) != (location.file_name, location.line_number):
        said.append(f"{Path(helper[1]).name}:{helper[2]} {_line(helper[1], int(helper[2]))}")
    told = failure.message.partition(" with:\n")[2] or failure.message
    said.extend(_differing(told) or [" ".join(told.split())])
    return " | ".join(one[:_WIDTH] for one in said if one)


def _differing(message: str) -> list[str]:
    """The lines of a comparison that differ."""
    lines = [line.strip() for line in message.splitlines()]
    return [line for line in lines if re.match(r"[-+][\s\u00a0]", line) and "Time" not in line][:8]


def _line(file: str, number: int) -> str:
    try:
        return Path(file).read_text().splitlines()[number - 1].strip()
    except (OSError, IndexError):
        return ""
