"""The image as far as it can be checked without building it."""

import itertools
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ops.production.deploy.__main__ import FOLDER
from ops.production.served import MULTIKUEUE, SERVICES
from tests.places import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
WITHOUT_EXTRAS = "import sys; sys.path[:0] = ['.']; sys.modules.update(dict.fromkeys(['duckdb', 'jsonschema_rs'])); "
PIN = re.compile(r"(?m)^([a-z0-9-]+)==(\S+)")


def pins(text: str) -> dict[str, str]:
    return dict(PIN.findall(text))


def test_the_image_holds_what_the_lock_file_holds_and_all_that_kuelog_needs() -> None:
    whole, image = pins((ROOT / "requirements.lock").read_text()), pins((FOLDER / "image.lock").read_text())
    assert image.items() <= whole.items(), "make lock"
    assert pins((FOLDER / "build.lock").read_text()).items() <= whole.items()
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.split(r"[><=]", one)[0] for one in wanted} <= set(image), "make lock"
    extras = {re.split(r"[><=]", one)[0] for some in EXTRAS.values() for one in some}
    assert extras <= set(whole)
    assert not {"pytest", "ruff", "basedpyright", "hypothesis", *extras} & set(image)


def test_the_image_runs_without_root_and_takes_only_pinned_packages() -> None:
    text = (FOLDER / "Dockerfile").read_text()
    last = text.rpartition("\nFROM ")[2]
    user = re.search(r"(?m)^USER (\d+):\d+$", last)
    assert user is not None and int(user.group(1)) > 0
    for line in re.findall(r"pip install [^&\n]*", text):
        assert "--require-hashes" in line or "--no-deps" in line
    copied = set(re.findall(r"(?m)^COPY (\w+) \1$", text))
    assert copied == {"events", "projections", "services", "ops"}


def commands(value: Any) -> Iterator[list[str]]:
    """What containers of our image are told to run."""
    match value:
        case {"image": str(name), "args": list(words)} if "kuelog" in name:
            yield words
        case dict():
            for one in value.values():
                yield from commands(one)
        case str() | int() | float() | None:
            return
        case _:
            for one in value:
                yield from commands(one)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code that the Dockerfile copies, without what .dockerignore leaves out."""
    there = tmp_path_factory.mktemp("image")
    left_out = {
        str(ROOT / line) for line in (FOLDER / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] in "eops"
    }
    assert all(Path(one).exists() for one in left_out)
    for floor in ("events", "projections", "services", "ops"):
        shutil.copytree(
            ROOT / floor,
            there / floor,
            ignore=lambda folder, names: {
                name for name in names if name == "__pycache__" or f"{folder}/{name}" in left_out
            },
        )
    return there


def in_image(image: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"{WITHOUT_EXTRAS}from ops.cli.main import main; main()", *words],
        cwd=image,
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_that_a_cluster_runs_is_in_the_image(image: Path) -> None:
    modules = "ops.cli.serving.serve, ops.cli.serving.webhook_commands, ops.cli.serving.visibility, ops.cli.serving.console, ops.cli.log.life, ops.cli.audit.auditing"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{WITHOUT_EXTRAS}import {modules}; print(ops.__file__)"],
        cwd=image,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(image))
    found = {
        tuple(itertools.takewhile(lambda word: word[0] not in "-/", words))
        for file in sorted((FOLDER / "manifests").glob("*.yaml"))
        for words in commands(yaml.safe_load_all(file.read_text()))
    }
    found |= {("console",), ("run", MULTIKUEUE)}
    assert {("run", one) for one in SERVICES} < found
    for words in found:
        done = in_image(image, *words, "--help")
        assert done.returncode == 0, (words, done.stderr)


def test_the_image_has_no_sql_and_says_so(image: Path) -> None:
    done = in_image(image, "audit", "query", "SELECT 1", "--archive", str(image))
    assert done.returncode == 2
    assert done.stderr == "error: this installation is for services: this command needs kuelog[archive]\n"


def test_the_image_has_no_sandbox_and_says_so(image: Path) -> None:
    assert not (image / "ops" / "sandbox").exists()
    done = in_image(image, "demo")
    assert done.returncode == 2
    assert done.stderr == "error: this installation is for services: this command needs kuelog[sandbox]\n"
