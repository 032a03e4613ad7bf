"""Fixtures of the tests that type the same commands at git and at pyreftable."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.twins import Objects, Twins, furnished_twins


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where repositories are made, once a session."""
    return tmp_path_factory.mktemp("twins")


@pytest.fixture(params=["sha1", "sha256"])
def twins(request: pytest.FixtureRequest, home: Path) -> tuple[Twins, Objects]:
    """Two equal repositories, and the objects in them."""
    twins, objects = furnished_twins(home, request.param)
    twins.reset()
    return twins, objects
