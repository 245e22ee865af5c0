"""The embedded API and its journal take whatever is sent or stored: it is refused, and the next one is served."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest

from ops.files.reading import Unreadable
from ops.sandbox.embedded_cluster.embedded import EmbeddedCluster
from ops.sandbox.embedded_cluster.store import Store

BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{below}'] * 10)}]\n" for below, name in zip("abcdefgh", "bcdefghi", strict=True)
)
BODIES = [
    "[" * 100_000,
    '{"a":' * 50_000,
    "\\xff",
    "5",
    "[]",
    '"\\ud800"',
    '{"metadata": 5}',
    '{"metadata": {"name": 5}}',
    '{"metadata": {"name": "a", "labels": [1]}}',
    '{"metadata": {"name": "a", "finalizers": 7}}',
    BOMB,
    "!!python/name:os.system",
    'a: !!int ""',
]


@pytest.fixture
async def url() -> AsyncGenerator[str]:
    cluster = EmbeddedCluster(controllers=False)
    await cluster.start()
    yield cluster.url
    await cluster.stop()


@pytest.mark.parametrize(
    ("method", "form"),
    [
        ("POST", "application/json"),
        ("POST", "application/yaml"),
        ("PATCH", "application/apply-patch+yaml"),
        ("PATCH", "application/merge-patch+json"),
    ],
)
async def test_a_body_that_is_no_object_is_refused_as_a_bad_request(url: str, method: str, form: str) -> None:
    path = f"{url}/api/v1/namespaces/default/pods"
    async with aiohttp.ClientSession() as session:
        if "merge" in form:
            made = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            async with session.post(path, json=made) as answer:
                assert answer.status == 201
        for body in BODIES:
            where = f"{path}/a?fieldManager=m" if method == "PATCH" else path
            async with session.request(method, where, data=body.encode(), headers={"Content-Type": form}) as answer:
                assert answer.status in (400, 422), (body[:40], await answer.text())
                assert (await answer.json())["kind"] == "Status"


@pytest.mark.parametrize(
    "line", ["[" * 100_000, "5", "{}", json.dumps({"v": 1, "k": "pods", "t": "ADDED", "o": {"metadata": 5}})]
)
def test_a_journal_that_is_none_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    journal = tmp_path / "api.jsonl"
    journal.write_text(json.dumps({"v": 1, "k": "", "t": "VERSION", "o": {}}) + f"\n{line}\n")
    with pytest.raises(Unreadable, match="on line 2"):
        Store(journal)


def test_what_was_being_written_when_the_process_died_is_left_out(tmp_path: Path) -> None:
    journal = tmp_path / "api.jsonl"
    journal.write_text(json.dumps({"v": 7, "k": "", "t": "VERSION", "o": {}}) + '\n{"v": 8, "k": "po')
    store = Store(journal)
    store.close()
    assert store.version == 7
