"""Fixtures that make repositories with the real git, and the Hypothesis profiles.

Profiles: `default` runs quickly, and in CI (the `CI` variable is set) always with the same
examples; `HYPOTHESIS_PROFILE=thorough` looks longer and wider.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import init_repo

_UNHURRIED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]

settings.register_profile(
    "default",
    max_examples=50,
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=_UNHURRIED,
)
settings.register_profile(
    "thorough", max_examples=1000, deadline=None, suppress_health_check=_UNHURRIED
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def repo_sha1(tmp_path: Path) -> Path:
    """Work tree of an empty reftable repository with SHA-1 ids."""
    return init_repo(tmp_path / "sha1", object_format="sha1")


@pytest.fixture
def repo_sha256(tmp_path: Path) -> Path:
    """Work tree of an empty reftable repository with SHA-256 ids."""
    return init_repo(tmp_path / "sha256", object_format="sha256")


@pytest.fixture(params=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Work tree of an empty reftable repository, once for each object format."""
    return init_repo(tmp_path / "repo", object_format=request.param)


@pytest.fixture
def no_leaked_descriptors() -> Iterator[None]:
    """Fail the test if it leaves file descriptors open (where the system lists them)."""
    before = _open_descriptors()
    yield
    assert _open_descriptors() - before == set()


def _open_descriptors() -> set[str]:
    gc.collect()
    listing = Path("/proc/self/fd")
    entries = list(listing.iterdir()) if listing.exists() else []
    # The listing's own descriptor is in the list, and gone by now.
    return {f"{entry.name} -> {entry.readlink()}" for entry in entries if entry.is_symlink()}
