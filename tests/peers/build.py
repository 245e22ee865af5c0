"""Build what kuelog is held against: `python -m tests.peers.build` (`make peers`), with Go at hand.

kube-apiserver and etcd, kube-controller-manager and kube-scheduler, Kueue's manager, its `minimalkueue` and its benchmark
runner, and Helm, each from its Go module at a fixed version. It takes some ten minutes on two cores and 5 GB in Go's caches.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from tests.places import ROOT

PEERS = ROOT / ".kuelog" / "peers"
API_SERVER, CONTROL_PLANE, KUEUE, HELM, KINDS, AUTOSCALER = (
    "api-server",
    "control-plane",
    "kueue",
    "helm",
    "kinds",
    "autoscaler",
)
LOAD = "load.yaml"
"""The load that Kueue's benchmark runner plays by default."""
TOPOLOGY_LOAD = "tas.yaml"
"""Its load with a topology: 640 nodes in ten racks."""


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A Go module, and the programs that are built from it."""

    path: str
    version: str
    programs: dict[str, str] = {}
    """Package by the name of its program."""
    files: dict[str, str] = {}
    """Other files of the module, by the name under which they lie in its folder."""
    folder: str = KUEUE
    """Where its files lie."""
    siblings: str = ""
    """The version of the modules that it expects in folders beside it, where its own `go.mod` names none."""
    variables: dict[str, str] = {}
    """What its programs have in variables of theirs in the place of what is written there."""


MODULES = (
    Module(path="go.etcd.io/etcd/server/v3", version="v3.6.5", programs={"etcd": "."}),
    Module(
        path="k8s.io/kubernetes",
        version="v1.36.3",
        programs={name: f"./cmd/{name}" for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")},
        siblings="v0.36.3",
        variables={"k8s.io/component-base/version.gitVersion": "v1.36.3"},
    ),
    Module(
        path="sigs.k8s.io/kueue",
        version="v0.17.0",
        programs={
            "manager": "./cmd/kueue",
            "minimalkueue": "./test/performance/scheduler/minimalkueue",
            "runner": "./test/performance/scheduler/runner",
        },
        # Its visibility API has its certificate in the folder in which it runs, and not in one at the root of this machine.
        variables={"sigs.k8s.io/kueue/pkg/visibility.certDir": "visibility"},
        files={
            LOAD: "test/performance/scheduler/configs/baseline/generator.yaml",
            TOPOLOGY_LOAD: "test/performance/scheduler/configs/tas/generator.yaml",
        },
    ),
    Module(path="helm.sh/helm/v3", version="v3.19.5", programs={"helm": "./cmd/helm"}),
    Module(
        path="sigs.k8s.io/jobset",
        version="v0.11.1",
        files={"jobsets.yaml": "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"},
        folder=KINDS,
    ),
    Module(
        path="github.com/kubeflow/trainer/v2",
        version="v2.2.0",
        files={
            f"{one}.yaml": f"manifests/base/crds/trainer.kubeflow.org_{one}.yaml"
            for one in ("trainjobs", "trainingruntimes", "clustertrainingruntimes")
        },
        folder=KINDS,
    ),
    Module(
        path="sigs.k8s.io/lws",
        version="v0.8.0",
        files={"leaderworkersets.yaml": "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml"},
        folder=KINDS,
    ),
    Module(
        path="github.com/kubeflow/training-operator",
        version="v1.9.3",
        files={
            f"{one}.yaml": f"manifests/base/crds/kubeflow.org_{one}.yaml"
            for one in ("pytorchjobs", "tfjobs", "xgboostjobs", "paddlejobs", "jaxjobs")
        },
        folder=KINDS,
    ),
    Module(
        path="github.com/kubeflow/mpi-operator",
        version="v0.8.0",
        files={"mpijobs.yaml": "manifests/base/kubeflow.org_mpijobs.yaml"},
        folder=KINDS,
    ),
    Module(
        path="github.com/ray-project/kuberay/ray-operator",
        version="v1.6.0",
        files={
            f"{one}.yaml": f"config/crd/bases/ray.io_{one}.yaml" for one in ("rayjobs", "rayclusters", "rayservices")
        },
        folder=KINDS,
    ),
    Module(
        path="github.com/project-codeflare/appwrapper",
        version="v1.2.0",
        files={"appwrappers.yaml": "config/crd/bases/workload.codeflare.dev_appwrappers.yaml"},
        folder=KINDS,
    ),
    Module(
        path="k8s.io/autoscaler/cluster-autoscaler/apis",
        version="v0.0.0-20240830133931-adfbe7e45277",
        files={"provisioningrequests.yaml": "config/crd/autoscaling.x-k8s.io_provisioningrequests.yaml"},
        folder=AUTOSCALER,
    ),
)
_FOLDERS = {
    "etcd": (API_SERVER, CONTROL_PLANE),
    "kube-apiserver": (API_SERVER, CONTROL_PLANE),
    "kube-controller-manager": (CONTROL_PLANE,),
    "kube-scheduler": (CONTROL_PLANE,),
    "helm": (HELM,),
}
"""By program the folders it lies in; Kueue's own without an entry."""
_GO = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false", "GOWORK": "off"}


def missing(module: Module, into: Path) -> dict[str, str]:
    """The programs of a module that are not built yet."""
    return {
        name: package
        for name, package in module.programs.items()
        if not all((into / folder / name).exists() for folder in _FOLDERS.get(name, (KUEUE,)))
    }


def build(module: Module, into: Path) -> Iterator[str]:
    """Build what is missing of a module; yields each program or file that is there now."""
    programs = missing(module, into)
    files = {name: path for name, path in module.files.items() if not (into / module.folder / name).exists()}
    if not programs and not files:
        return
    with _sources(module) as folder:
        for name, package in programs.items():
            flags = " ".join(("-s", "-w", *(f"-X {name}={value}" for name, value in module.variables.items())))
            first, *others = [into / one / name for one in _FOLDERS.get(name, (KUEUE,))]
            go(folder, "build", "-ldflags", flags, "-o", str(first), package)
            for other in others:
                other.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(first, other)
            yield name
        for name, path in files.items():
            (into / module.folder).mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / path, into / module.folder / name)
            yield name


@contextmanager
def _sources(module: Module) -> Generator[Path]:
    with TemporaryDirectory(prefix="kuelog-peers-") as parent:
        folder = Path(parent) / "module"
        copy(module, folder)
        yield folder


def copy(module: Module, folder: Path) -> None:
    """Copy the module so that it builds by itself: what it would take from folders beside it comes as modules, too."""
    found = json.loads(go(Path.cwd(), "mod", "download", "-json", f"{module.path}@{module.version}"))["Dir"]
    shutil.copytree(found, folder, ignore=shutil.ignore_patterns("go.work*", "vendor"))
    for one in (folder, *folder.rglob("*")):
        one.chmod(one.stat().st_mode | 0o200)
    file: dict[str, Any] = json.loads(go(folder, "mod", "edit", "-json"))
    for one in file.get("Replace") or ():
        if one["New"]["Path"].startswith("."):
            go(folder, "mod", "edit", f"-dropreplace={one['Old']['Path']}")
    for one in file.get("Require") or ():
        if one["Version"] == "v0.0.0":
            go(folder, "mod", "edit", f"-require={one['Path']}@{module.siblings}")


def go(folder: Path, *words: str) -> str:
    """What Go says, there; raises `CalledProcessError`."""
    return subprocess.run(["go", *words], cwd=folder, env=_GO, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Build everything that is missing, and say what to set."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers.build", description=__doc__)
    parser.add_argument("--into", type=Path, default=PEERS, help="where the programs are put")
    into: Path = parser.parse_args().into.resolve()
    if shutil.which("go") is None:
        sys.exit("peers: there is no go on this machine: install Go (1.24 or newer), and run this again")
    for module in MODULES:
        try:
            for name in build(module, into):
                print(f"built {name} ({module.path} {module.version})", flush=True)
        except subprocess.CalledProcessError as failed:
            sys.exit(f"peers: {' '.join(failed.cmd)} failed: it says above why")
    print(f"export KUEBUILDER_ASSETS={into / API_SERVER}        # or {CONTROL_PLANE}, with its controllers")
    print(f"export KUELOG_TEST_KUEUE_MANAGER={into / KUEUE / 'manager'}")
    print(f"export KUELOG_HELM={into / HELM / 'helm'}")


if __name__ == "__main__":
    main()
