"""Changing a configuration file: one variable at a time, everything else stays as it is.

A new variable goes to the end of its section's last occurrence, a new section to the end of the
file; a section that loses its last variable, and holds no comment, goes with it. The file is
replaced by rename under `NAME.lock`, so that readers see the old one or the new one.

Source: `git-config`; where things go follows git's behaviour.
"""

from __future__ import annotations

import os

from ..errors import ConfigError
from ..stack.files import OwnFile, acquire_lock, storage_errors
from .config_parser import Entry, Origin, canonical_key, parse_config

_LOCK_TIMEOUT_MS = 1000
_COMMENTS = ("#", ";")


class ConfigFile:
    """The file at `path`, read now (a missing one is empty), changed in memory, then written.

    Between construction and `write` or `close` the file is locked. Raises `LockError`,
    `StorageError`, and `ConfigError` for a file that cannot be parsed.
    """

    def __init__(self, path: str, mode: int | None = None) -> None:
        self.path = path
        self._mode = mode
        self._lock: OwnFile | None = acquire_lock(path + ".lock", _LOCK_TIMEOUT_MS, mode)
        try:
            self._lines = self._read()
            self.entries()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ConfigFile:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def entries(self) -> list[Entry]:
        """The entries of the file as it would be written now."""
        return parse_config(self._encoded(), Origin("local", self.path))

    def get(self, key: str) -> str | None:
        """The last value of `key`; `None` where it is not set, or set without a value."""
        found = self._find(key)
        return found[-1].value if found else None

    def set(self, key: str, value: str) -> None:
        """Set `key`, in place of what it was set to before."""
        section, _, name = key.rpartition(".")
        line = f"\t{name} = {_quoted(value)}"
        found = self._find(key)
        if found:
            for entry in found[:-1][::-1]:
                self._remove(entry)
            entry = self._find(key)[-1]
            start = self._start_of(entry)
            header = self._header_before(start, name)
            self._lines[start : entry.line] = [header, line] if header else [line]
            return
        at = self._end_of_section(section)
        if at is None:
            self._lines += [_header(section), line]
        else:
            self._lines.insert(at, line)

    def unset(self, key: str) -> None:
        """Remove every setting of `key`."""
        for entry in reversed(self._find(key)):
            self._remove(entry)

    def write(self) -> None:
        """Put the file in place, durably, and let go of the lock."""
        lock = self._lock
        if lock is None:
            raise ConfigError(f"{self.path}: already written")
        if self._mode is None:
            _copy_permissions(self.path, lock.path)
        lock.write(self._encoded())
        lock.finish(sync=True)
        lock.rename(self.path)
        self._lock = None

    def close(self) -> None:
        """Let go of the lock; what was not written is lost."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.remove()

    def _read(self) -> list[str]:
        with storage_errors(self.path):
            try:
                with open(self.path, "rb") as file:
                    data = file.read()
            except FileNotFoundError:
                return []
        text = data.decode("utf-8", "surrogateescape")
        return text.removesuffix("\n").split("\n") if text else []

    def _encoded(self) -> bytes:
        text = "".join(f"{line}\n" for line in self._lines)
        return text.encode("utf-8", "surrogateescape")

    def _find(self, key: str) -> list[Entry]:
        canonical = canonical_key(key)
        return [entry for entry in self.entries() if entry.key == canonical]

    def _start_of(self, entry: Entry) -> int:
        """The index of the line on which the entry begins; it ends on `entry.line`."""
        start = entry.line - 1
        while start and _goes_on(self._lines[start - 1]):
            start -= 1
        return start

    def _header_before(self, at: int, name: str) -> str:
        """The header that shares a line with the variable `name`, if one does."""
        line = self._lines[at]
        if not line.lstrip().startswith("["):
            return ""
        end = line.find("]")
        while end >= 0 and not line[end + 1 :].lstrip().lower().startswith(name.lower()):
            end = line.find("]", end + 1)
        return line[: end + 1]

    def _remove(self, entry: Entry) -> None:
        start = self._start_of(entry)
        header = self._header_before(start, entry.key.rpartition(".")[2])
        self._lines[start : entry.line] = [header] if header else []
        at = start if header else start - 1
        while at >= 0 and not self._lines[at].strip():
            at -= 1
        following = next((line for line in self._lines[at + 1 :] if line.strip()), "[")
        if at >= 0 and self._is_bare_header(at) and following.lstrip().startswith("["):
            del self._lines[at]

    def _is_bare_header(self, at: int) -> bool:
        line = self._lines[at].strip()
        return line.startswith("[") and line.endswith("]") and not _goes_on(self._lines[at - 1])

    def _end_of_section(self, section: str) -> int | None:
        """Where a line would be the last of the section; `None` if there is no such section."""
        wanted = canonical_key(f"{section}.x").rpartition(".")[0]
        end, inside = None, False
        for index, line in enumerate(self._lines):
            if line.lstrip().startswith("[") and not (index and _goes_on(self._lines[index - 1])):
                inside = self._section_of(line) == wanted
            if inside and line.strip() and not line.lstrip().startswith(_COMMENTS):
                end = index + 1
        return end

    def _section_of(self, line: str) -> str:
        """The section that a line with a header opens (several headers: the last)."""
        data = f"{line}\nx".encode("utf-8", "surrogateescape")
        return parse_config(data, Origin("local", self.path))[-1].key.rpartition(".")[0]


def _goes_on(line: str) -> bool:
    """Whether a value goes on in the line after this one."""
    stripped = line.removesuffix("\r")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return backslashes % 2 == 1 and not stripped.lstrip().startswith(_COMMENTS)


def _header(section: str) -> str:
    name, dot, subsection = section.partition(".")
    if not dot:
        return f"[{name}]"
    escaped = subsection.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{name} "{escaped}"]'


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n").replace("\t", "\\t")
    needs_quotes = value != value.strip(" ") or any(char in value for char in ";#\r")
    return f'"{escaped}"' if needs_quotes else escaped


def _copy_permissions(source: str, target: str) -> None:
    with storage_errors(target):
        try:
            mode = os.stat(source).st_mode & 0o7777
        except FileNotFoundError:
            return
        os.chmod(target, mode)
