"""The house rules that can be read off the source: imports run downward, modules stay short."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pyreftable

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "pyreftable"
COMMANDS = ROOT / "cli" / "pyreftable_cli"

# Lower rooms first; a module may import from its own room and from those before it.
ROOMS = (
    "errors hashes",
    "format ranged write_options",
    "table_blocks writer object_positions",
    "table",
    "newest merged table_check progress",
    "probe",
    "stack",
    "refs",
)
HEIGHT = {name: height for height, names in enumerate(ROOMS) for name in names.split()}


def modules() -> list[Path]:
    return [path for path in sorted(LIBRARY.rglob("*.py")) if path != LIBRARY / "__init__.py"]


def room(parts: tuple[str, ...]) -> str:
    return parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a module imports from, late imports included."""
    package = path.relative_to(LIBRARY).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            tail = tuple(node.module.split(".")) if node.module else ()
            names = [(*base, *tail)] if tail or base else [(alias.name,) for alias in node.names]
            found |= {room(parts) for parts in names if parts}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyreftable"):
            raise AssertionError(f"{path}: absolute import of the library in itself")
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(LIBRARY)))
def test_imports_run_downward(path: Path) -> None:
    own = HEIGHT.get(room(path.relative_to(LIBRARY).parts))
    if own is None:
        pytest.fail(f"{path.name} is in no room: name it in ROOMS")
    upward = {name for name in imported_rooms(path) if HEIGHT[name] > own}
    assert not upward


def test_every_module_is_checked() -> None:
    assert len(modules()) > 30
    assert imported_rooms(LIBRARY / "refs" / "store.py") >= {"stack", "errors"}


def test_library_imports_no_command() -> None:
    assert not [path for path in modules() if "pyreftable_cli" in path.read_text()]


def test_modules_stay_short() -> None:
    paths = [*modules(), *COMMANDS.rglob("*.py")]
    assert {path.name for path in paths if len(path.read_text().splitlines()) > 400} == set()


def test_public_names_exist_and_are_documented() -> None:
    for name in pyreftable.__all__:
        value = getattr(pyreftable, name)
        assert name == "__version__" or not isinstance(value, type) or value.__doc__
    assert set(pyreftable.__all__) == {*pyreftable._MODULE_OF, "__version__"}
