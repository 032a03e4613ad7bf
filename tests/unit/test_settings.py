"""Settings: what git's configuration comes to for the layers below."""

from __future__ import annotations

import pytest

from pyreftable.errors import ConfigError
from pyreftable.refs.config import Config
from pyreftable.refs.config_parser import Origin, parse_config
from pyreftable.refs.settings import shared_mode, syncs_references, write_options
from pyreftable.write_options import WriteOptions


def config_of(text: str) -> Config:
    return Config(lambda: parse_config(text.encode(), Origin("local", "config")), {})


def test_write_options_default_to_git_s() -> None:
    assert write_options(config_of("")) == WriteOptions()
    zeros = "[reftable]\n\tblockSize = 0\n\trestartInterval = 0\n"
    assert write_options(config_of(zeros)) == WriteOptions()


def test_write_options_are_read() -> None:
    text = "[reftable]\n\tblockSize = 1k\n\trestartInterval = 1\n\tindexObjects = no\n"
    expected = WriteOptions(block_size=1024, restart_interval=1, index_objects=False)
    assert write_options(config_of(text)) == expected


@pytest.mark.parametrize(
    ("setting", "limit", "message"),
    [
        ("blockSize", 16777215, "reftable block size cannot exceed 16MB"),
        ("restartInterval", 65535, "reftable block size cannot exceed 65535"),
    ],
)
def test_limits(setting: str, limit: int, message: str) -> None:
    write_options(config_of(f"[reftable]\n\t{setting} = {limit}\n"))
    with pytest.raises(ConfigError, match=f"^{message}$"):
        write_options(config_of(f"[reftable]\n\t{setting} = {limit + 1}\n"))


@pytest.mark.parametrize(
    ("value", "synced"),
    [
        (None, True),
        ("", True),
        ("all", True),
        ("reference", True),
        ("loose-object,pack", True),
        ("none", False),
        ("none,reference", True),
        ("reference,none", True),
        ("-reference", False),
        ("-all", False),
        ("-committed", False),
        ("-loose-object", True),
        ("all,-reference", True),
        ("-ref", False),
        ("-re, -pack", False),
        ("pack ,-reference", False),
        (",-reference", False),
        ("pack,, -reference", False),
        ("-", True),
        ("-,-reference", True),
        ("unknown", True),
    ],
)
def test_fsync_components(value: str | None, synced: bool) -> None:
    text = "" if value is None else f"[core]\n\tfsync = {value}\n"
    assert syncs_references(config_of(text)) is synced


@pytest.mark.parametrize(
    ("method", "synced"), [("fsync", True), ("batch", True), ("writeout-only", False), ("x", True)]
)
def test_fsync_method(method: str, synced: bool) -> None:
    assert syncs_references(config_of(f"[core]\n\tfsyncMethod = {method}\n")) is synced


@pytest.mark.parametrize(
    ("mode", "shared", "expected"),
    [
        (0o644, 0o660, 0o664),
        (0o600, 0o660, 0o660),
        (0o600, 0o664, 0o664),
        (0o444, 0o660, 0o444),
        (0o755, 0o660, 0o775),
        (0o644, -0o640, 0o640),
        (0o666, -0o600, 0o600),
        (0o777, -0o640, 0o750),
    ],
)
def test_shared_mode(mode: int, shared: int, expected: int) -> None:
    assert shared_mode(mode, shared) == expected
