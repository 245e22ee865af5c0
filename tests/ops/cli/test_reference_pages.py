"""The pages for reference say what the code says."""

import ast
from pathlib import Path

from events.api import labels
from ops.cli.reference_pages import COMMANDS, LABELS, commands_page, labels_page

ROOT = Path(__file__).parents[3]
FLOORS = ("events", "projections", "services", "ops")
CONTROLLERS = {"kueue.x-k8s.io/provisioning-request", "kueue.x-k8s.io/multikueue", "kuelog.io/budget"}
"""Names of check controllers, which have the form of labels."""
NOT_READ = {"kueue.x-k8s.io/manager", "kueue.x-k8s.io/workloadpriorityclass", "kuelog.io/child"}
"""An entry in a TrainJob's patches, a class's source, and a field that only code sees."""
OUR_OWN_OBJECTS = {"kuelog.io/bus", "kuelog.io/api", "kuelog.io/bench"}
"""Labels of what kuelog itself is deployed as."""
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
