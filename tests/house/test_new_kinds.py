"""Another kind of object that administrators set up is watched, told, folded, kept and answered for by changes in three files."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

CHANGES = {
    "events/quota.py": (
        (
            "ConfigurationFact: TypeAlias = (\n",
            '''class StorageClassObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="StorageClassObserved.v1"):
    """A storage class and who provides its volumes."""

    kind: ClassVar[str] = "StorageClass"
    api_version: ClassVar[str] = "storage.k8s.io/v1"
    provisioner: str = ""


ConfigurationFact: TypeAlias = (
    StorageClassObserved |
''',
        ),
    ),
    "projections/configuration.py": (
        ("    RuntimeClassObserved,\n", "    RuntimeClassObserved,\n    StorageClassObserved,\n"),
        (
            "    runtime_classes: dict[str, RuntimeClassObserved]\n\n\nTABLES",
            "    runtime_classes: dict[str, RuntimeClassObserved]\n"
            "    storage_classes: dict[str, StorageClassObserved] = {}\n\n\nTABLES",
        ),
        (
            "    runtime_classes: dict[str, RuntimeClassObserved]\n\n    def",
            "    runtime_classes: dict[str, RuntimeClassObserved]\n"
            "    storage_classes: dict[str, StorageClassObserved]\n\n    def",
        ),
        (
            "    runtime_classes: dict[str, RuntimeClassObserved]\n    versions",
            "    runtime_classes: dict[str, RuntimeClassObserved]\n"
            "    storage_classes: dict[str, StorageClassObserved]\n    versions",
        ),
    ),
    "services/watcher/settings/cluster_objects.py": (
        ("    RuntimeClassObserved,\n", "    RuntimeClassObserved,\n    StorageClassObserved,\n"),
        (
            "OBSERVED = (\n",
            '''class _StorageClass(ApiStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta
    provisioner: str = ""


def storage_class(value: JsonMapping) -> Fact:
    """A StorageClass."""
    found = read(value, _StorageClass)
    return StorageClassObserved(name=found.metadata.name, provisioner=found.provisioner)


OBSERVED = (
    _of_cluster("storage.k8s.io", "StorageClass", "storageclasses", storage_class),
''',
        ),
        ("from events.api.meta import ObjectMeta", "from events.api.meta import ApiStruct, ObjectMeta"),
    ),
}
PLAY = """
from events.catalogue import Fact
from events.control import ObjectRefused, ObjectRemoved
from events.quota import StorageClassObserved
from ops.sandbox.embedded_cluster.kinds import BUILT_IN
from projections.evolve import evolve
from projections.explanation.about import canonical, objects_of
from projections.log_position import LogPosition
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.world import World
from services.applier.events.cluster_events import refusal_event
from services.watcher.settings.cluster_objects import SIMPLE
from services.watcher.object_keys import place_of
from services.watcher.settings.watched_kinds import CLUSTER_KINDS

fact = SIMPLE["StorageClass"]({"metadata": {"name": "fast"}, "provisioner": "example.com/disks"})
assert fact == StorageClassObserved(name="fast", provisioner="example.com/disks")
assert place_of(fact) == "StorageClass//fast" and objects_of(fact) == ("storageclass/fast",)
assert canonical("StorageClass/fast") == "storageclass/fast"
assert any(one.kind == "StorageClass" for one in CLUSTER_KINDS) and any(one.kind == "StorageClass" for one in BUILT_IN)
at = LogPosition(partition="main", sequence=1, at=1)
empty, world = state_hash(World()), World()
refused = ObjectRefused(kind="StorageClass", namespace="", name="fast", problems=())
evolve(world, refused, at)
assert refusal_event(refused, 1).api_version == "storage.k8s.io/v1"
evolve(world, fact, at)
assert world.storage_classes == {"fast": fact} and not world.refused and state_hash(world) != empty
again = world_of(tables_of(world))
assert again.storage_classes == {"fast": fact} and state_hash(again) == state_hash(world)
evolve(world, ObjectRemoved(kind="StorageClass", namespace="", name="fast"), at)
assert state_hash(world) == empty
"""


def test_another_kind_of_configuration_takes_three_files(tmp_path: Path) -> None:
    for name in ("events", "projections", "services", "ops"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file, changes in CHANGES.items():
        text = (tmp_path / file).read_text()
        for before, after in changes:
            assert text.count(before) == 1, (file, before)
            text = text.replace(before, after)
        (tmp_path / file).write_text(text)
    played = subprocess.run(
        [sys.executable, "-c", PLAY], cwd=tmp_path, capture_output=True, text=True, check=False, env={"PATH": ""}
    )
    assert played.returncode == 0, played.stderr
    assert len(CHANGES) <= 3
