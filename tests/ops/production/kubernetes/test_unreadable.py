"""Answers that can't be read end no watch: what is too deep is left alone, what is broken is asked for again."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from ops.production.kubernetes.reflector import Reflector
from services.runtime.cluster_port import Changed, Listed, Resource, Sight

JOBS = Resource(group="batch", plural="jobs", kind="Job")


class Odd:
    """An API server that answers what it is told to."""

    def __init__(self, *lines: bytes) -> None:
        self.left = [*lines]
        self.lists = 0

    async def request(self, method: str, path: str, *_: Any, **__: Any) -> dict[str, Any]:
        del method, path
        self.lists += 1
        return {"items": [], "metadata": {"resourceVersion": "5"}}

    async def lines(self, path: str) -> AsyncGenerator[bytes, None]:
        del path
        while self.left:
            yield self.left.pop(0)
        await asyncio.Event().wait()


def change(name: str) -> bytes:
    return f'{{"type":"ADDED","object":{{"metadata":{{"name":"{name}","resourceVersion":"7"}}}}}}'.encode()


async def seen(api: Odd, count: int) -> list[Sight]:
    found: list[Sight] = []
    async for sight in Reflector(api).watch(JOBS):  # type: ignore[arg-type]
        found.append(sight)
        if len(found) == count:
            break
    return found


async def test_an_object_that_is_nested_too_deep_is_left_alone_and_the_next_is_seen() -> None:
    deep = b'{"type":"ADDED","object":{"metadata":{"name":"deep"},"spec":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    api = Odd(deep, change("good"))
    found = await seen(api, 2)
    assert isinstance(found[0], Listed) and isinstance(found[1], Changed)
    assert found[1].object["metadata"]["name"] == "good" and api.lists == 1


async def test_after_a_broken_line_everything_is_listed_again() -> None:
    for broken in (b"nonsense", b'{"type":"ADDED","object":5}', b'{"type":7}', b"\xff\xfe", b"[" * 50):
        api = Odd(broken, change("good"))
        found = await seen(api, 3)
        assert [type(one) for one in found] == [Listed, Listed, Changed]
