"""What holds for every Python test. Fixtures live next to their only user; see `tests/editor/conftest.py`."""

import pytest


@pytest.fixture(autouse=True)
def no_keys_or_endpoints_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a developer's own models out of every test."""
    for vendor in ("OPENAI", "ANTHROPIC"):
        monkeypatch.delenv(f"{vendor}_API_KEY", raising=False)
        monkeypatch.delenv(f"{vendor}_BASE_URL", raising=False)
    for name in ("ENSIGN_MODEL", "ENSIGN_HOME"):
        monkeypatch.delenv(name, raising=False)
