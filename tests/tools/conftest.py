"""A bench in a fresh folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.tools.bench import Bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    found = Bench(tmp_path.resolve())
    yield found
    await found.close()
