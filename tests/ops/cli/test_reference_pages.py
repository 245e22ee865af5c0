"""The pages for reference say what the code says."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from events.api import labels
from events.api.conditions import CONDITIONS, REASONS
from events.multikueue import ALL_AT_ONCE, BY_ESTIMATE, INCREMENTAL
from ops.cli.reference_pages import (
    COMMANDS,
    CONDITIONS_PAGE,
    CONFIGURATION,
    LABELS,
    SCENARIOS,
    commands_page,
    conditions_page,
    labels_page,
)
from ops.production.configuration.page import page as configuration_page
from ops.sandbox.scenario.page import page as scenarios_page
from projections.explanation.fixes import FIXES, UNWRITTEN
from projections.folds.set_aside import SET_ASIDE
from projections.set_aside.records import LEFT_ALONE
from projections.unsupported import NOT_DONE, REFUSED_BEFORE
from projections.workloads import lifecycle
from services.jobs.kinds.elastic import may_be_elastic
from services.jobs.kinds.table import KINDS, SERVING
from services.queue_manager.enqueue import HELD_BACK

ROOT = Path(__file__).parents[3]
FLOORS = ("events", "projections", "services", "ops")
CONTROLLERS = {"kueue.x-k8s.io/provisioning-request", "kueue.x-k8s.io/multikueue", "kuelog.io/budget"} | {
    ALL_AT_ONCE,
    BY_ESTIMATE,
    INCREMENTAL,
}
"""Names of check controllers and dispatchers, which have the form of labels."""
NOT_READ = {"kueue.x-k8s.io/manager", "kueue.x-k8s.io/workloadpriorityclass", "kuelog.io/child"}
"""An entry in a TrainJob's patches, a class's source, and a field that only code sees."""
OUR_OWN_OBJECTS = {"kuelog.io/bus", "kuelog.io/api", "kuelog.io/bench"}
"""Labels of what kuelog itself is deployed as."""
VARIABLE = re.compile(r"\bKUELOG_[A-Z_]+")
OF_A_POD = {"KUELOG_PASSWORD"}
"""Of which manifests make the address of the bus."""
PREFIXES = ("kueue.x-k8s.io/", "kuelog.io/")


def constants() -> dict[str, str]:
    return {
        name: value for name, value in vars(labels).items() if isinstance(value, str) and value.startswith(PREFIXES)
    }


def is_key(text: object) -> bool:
    return isinstance(text, str) and text.startswith(PREFIXES) and not text.startswith("kueue.x-k8s.io/v")


def keys_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and is_key(node.value)}
    return {one for one in found if isinstance(one, str) and one not in PREFIXES}


def test_the_pages_are_what_the_code_says() -> None:
    assert LABELS.read_text(encoding="utf-8") == labels_page()
    assert COMMANDS.read_text(encoding="utf-8") == commands_page()
    assert CONDITIONS_PAGE.read_text(encoding="utf-8") == conditions_page()
    assert CONFIGURATION.read_text(encoding="utf-8") == configuration_page()
    assert SCENARIOS.read_text(encoding="utf-8") == scenarios_page()


def test_every_option_of_the_page_says_what_it_is_for_and_hidden_ones_are_not_there() -> None:
    rows = [line.split(" | ") for line in commands_page().splitlines() if line.startswith("| `")]
    assert len(rows) > 500
    assert [row[0] for row in rows if len(row[-1].strip("| ")) < 5] == []


def test_every_variable_that_the_code_reads_is_on_the_page_of_commands() -> None:
    read = {one for path in (ROOT / "ops").rglob("*.py") for one in VARIABLE.findall(path.read_text(encoding="utf-8"))}
    assert {"KUELOG_NATS", "KUELOG_BUS_CA"} < read
    assert {one for one in read - OF_A_POD if one not in commands_page()} == set()


def test_a_default_that_is_a_path_is_on_the_page_of_commands() -> None:
    assert "The folder that a run keeps its log and cluster in. Default: .kuelog/demo." in commands_page()


def test_every_setting_and_every_field_of_a_scenario_says_what_it_is_for() -> None:
    pages = [page.read_text(encoding="utf-8") for page in (CONFIGURATION, SCENARIOS)]
    rows = [line.split(" | ") for page in pages for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 110
    assert [row[0] for row in rows if len(row[-1].strip("| ")) < 5] == []


def test_every_reason_of_the_page_is_given_by_the_code_and_none_is_missing() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for floor in ("events", "projections", "services")
        for path in (ROOT / floor).rglob("*.py")
        if path.name != "conditions.py" or path.parent.name != "api"
    )
    named = {one.reason for one in REASONS}
    assembled = {"ClusterQueueStopped", "LocalQueueStopped"}
    parts = {one.removeprefix("DeactivatedDueTo") for one in named - assembled}
    assert {one for one in parts if f'"{one}"' not in code} == set()
    not_shown = {"Backoff", "TreeSplit", UNWRITTEN, lifecycle.WAITING_FOR_PODS, LEFT_ALONE}
    assert (set(FIXES) | HELD_BACK) - set(NOT_DONE) - set(REFUSED_BEFORE) - not_shown - named == set()


def test_every_condition_of_a_workload_is_on_the_page() -> None:
    types = {
        value
        for name, value in (*vars(lifecycle).items(), ("SET_ASIDE", SET_ASIDE))
        if name.isupper()
        and isinstance(value, str)
        and name not in ("OBJECT_DELETED", "OTHER_PODS", "EVICTED_ON_MANAGER")
    }
    assert types - {one.type for one in CONDITIONS} == set()
    assert {one.type for one in REASONS} <= {one.type for one in CONDITIONS}


def test_every_label_that_has_a_name_is_explained() -> None:
    assert set(constants().values()) == {one.key for one in labels.KNOWN}


def test_a_label_is_written_out_in_one_place() -> None:
    besides = CONTROLLERS | NOT_READ | OUR_OWN_OBJECTS
    elsewhere = {
        str(path.relative_to(ROOT)): found
        for floor in FLOORS
        for path in (ROOT / floor).rglob("*.py")
        if path != Path(labels.__file__) and (found := keys_in(path) - besides)
    }
    assert elsewhere == {}


def test_the_page_of_labels_names_each_kind_that_may_be_elastic() -> None:
    said = next(one for one in labels.KNOWN if (one.key, one.form) == (labels.ELASTIC_JOB, labels.LabelForm.ANNOTATION))
    assert {one.kind for one in (*KINDS, *SERVING.values()) if may_be_elastic(one)} == set(said.on.split(", ")) - {
        "Workload"
    }


SAID_BY = {
    "ActiveCondition": (None, 1),
    "true_condition": (0, 1),
    "condition_at": (0, 2),
    "EvictionOrdered": (None, "reason"),
    "KubeConfigRefused": (None, 0),
    "_show": (None, 1),
}
"""Calls that make a condition: which argument is its type, where it is said there, and which its reason."""


def test_every_condition_and_reason_that_the_code_writes_out_is_on_the_page() -> None:
    """Both by their names in the code: what a call is handed through is written out where it begins."""
    types, reasons = {one.type for one in CONDITIONS}, {one.reason for one in REASONS}
    sources = [path for floor in ("projections", "services") for path in (ROOT / floor).rglob("*.py")]
    said = [found for path in sources for found in conditions_said(path)]
    assert ("SetAside", "DecisionFailed") in said and (None, "ClusterQueueIsInactive") in said
    assert {kind for kind, _ in said if kind is not None} - types == set()
    assert {reason for _, reason in said if reason is not None} - reasons - {INACTIVE} == set()


INACTIVE = "Inactive"
"""Of a check of somebody else's: its condition is not ours to write."""


def conditions_said(path: Path) -> Iterator[tuple[str | None, str | None]]:
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name in SAID_BY:
            kind, reason = (written_out(path, argument(call, at)) for at in SAID_BY[name])
            yield kind, reason


def argument(call: ast.Call, at: int | str | None) -> ast.expr | None:
    if isinstance(at, str):
        return next((one.value for one in call.keywords if one.arg == at), None)
    return call.args[at] if at is not None and at < len(call.args) else None


def written_out(path: Path, value: ast.expr | None) -> str | None:
    if isinstance(value, ast.Name) and value.id.isupper():
        return str(getattr(import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)), value.id))
    return value.value if isinstance(value, ast.Constant) else None
