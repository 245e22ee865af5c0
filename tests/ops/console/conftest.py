"""A console for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.ops.console.served import Console, served


@pytest.fixture
async def console(tmp_path: Path) -> AsyncIterator[Console]:
    async with served(tmp_path) as found:
        yield found
