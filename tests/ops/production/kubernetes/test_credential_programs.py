"""Programs that give credentials for worker clusters, as processes of their own."""

from pathlib import Path

import pytest

from ops.production.kubernetes.remote import KubeConnector
from services.runtime.cluster_port import ClusterUnavailable


def program(folder: Path, text: str) -> str:
    file = folder / "plugin"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


async def test_what_it_prints_is_its_answer_and_it_gets_its_words_and_variables(tmp_path: Path) -> None:
    named = program(tmp_path, 'echo "$1 $OWN"; test -n "$PATH"; cat')
    assert await KubeConnector("default").run((named, "x"), {"OWN": "y"}) == b"x y\n", "nobody answers it"


@pytest.mark.parametrize(
    ("text", "problem"),
    [("exit 3", "failed with exit code 3"), ("kill -9 $$", "failed with exit code -9")],
)
async def test_one_that_fails_says_so(tmp_path: Path, text: str, problem: str) -> None:
    named = program(tmp_path, text)
    with pytest.raises(ClusterUnavailable, match=f"getting credentials: exec: executable {named} {problem}"):
        await KubeConnector("default").run((named,), {})


async def test_one_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(ClusterUnavailable, match=f"executable {tmp_path}/none not found"):
        await KubeConnector("default").run((f"{tmp_path}/none",), {})


async def test_one_that_may_not_be_run_says_so(tmp_path: Path) -> None:
    file = tmp_path / "plain"
    file.write_text("")
    with pytest.raises(ClusterUnavailable, match="Permission denied"):
        await KubeConnector("default").run((str(file),), {})
