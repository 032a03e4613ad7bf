"""Fields of `for-each-ref` made from messages: subject, body, contents, trailers."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.for_each_ref_scene import check, make_scene


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scene; tests only read it."""
    return make_scene(tmp_path_factory.mktemp("messages"), "sha1")


FORMATS = [
    "%(subject)|%(*subject)",
    "%(subject:sanitize)",
    "%(body)|%(*body)",
    "%(contents)|%(*contents)",
    "%(contents:subject)|%(contents:body)|%(contents:signature)",
    "%(contents:size)|%(*contents:size)",
    "%(contents:lines=0)|%(contents:lines=1)|%(contents:lines=2)",
    "%(contents:lines=4)|%(contents:lines=99)|%(*contents:lines=3)",
    "%(trailers)|%(contents:trailers)|%(*trailers)",
    "%(trailers:only)|%(trailers:only=no)|%(contents:trailers:only=true)",
    "%(trailers:unfold)|%(trailers:unfold,only)|%(trailers:only,unfold=0)",
    "%(trailers:key=acked-by)|%(trailers:key=Key:)|%(trailers:key=Key,key=Other,only=false)",
    "%(trailers:keyonly)|%(trailers:valueonly)|%(trailers:keyonly,valueonly)",
    "%(trailers:key=Key,valueonly,separator=%x2C )|%(trailers:separator=;)",
    "%(trailers:separator=%n%%|%x)|%(trailers:only,separator=%x00)",
    "%(trailers:key_value_separator=%x3D)|%(trailers:key_value_separator=,keyonly)",
    "%(trailers:separator)|%(trailers:)|%(trailers:only,)",
]


@pytest.mark.parametrize("text", FORMATS)
def test_fields(repo: Path, text: str) -> None:
    check(f"for-each-ref {shlex.quote(f'--format=%(refname) {text}')}", repo)


SETTINGS = [
    "-c trailer.separators=:#=",
    "-c 'trailer.separators==:'",
    "-c trailer.short.key=Expanded",
    "-c trailer.short.key='Expanded: ' -c trailer.separators=:#=",
    "-c trailer.fix.key='Fix #' -c trailer.separators=:#",
    "-c trailer.clo.ifexists=add -c trailer.separators==",
    "-c core.commentChar=!",
    "-c core.commentChar=auto",
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_settings_for_trailers(repo: Path, settings: str) -> None:
    text = "%(refname) %(trailers)|%(trailers:only)|%(trailers:unfold,keyonly)"
    check(f"{settings} for-each-ref '--format={text}' refs/tags/message", repo)


BAD_FORMATS = [
    "%(subject:foo)",
    "%(body:foo)",
    "%(contents:foo)",
    "%(contents:lines)",
    "%(contents:lines=)",
    "%(contents:lines=-1)",
    "%(contents:lines=x)",
    "%(trailers:foo)",
    "%(trailers:foo=x,only)",
    "%(trailers:only=maybe)",
    "%(trailers:key)",
    "%(trailers:key,only)",
    "%(trailers:only,,unfold)",
    "%(contents:trailers:foo)",
    "%(*subject:x)",
]


@pytest.mark.parametrize("text", BAD_FORMATS)
def test_bad_formats(repo: Path, text: str) -> None:
    assert check(f"for-each-ref '--format={text}'", repo).status == 128


@pytest.mark.parametrize("style", ["--shell", "--perl", "--python", "--tcl"])
def test_quoting(repo: Path, style: str) -> None:
    check(f"for-each-ref {style} '--format=%(contents) %(trailers:unfold)'", repo)


def test_blocks_around_messages(repo: Path) -> None:
    text = "%(if)%(contents:body)%(then)%(align:20)%(subject)%(end)|%(else)%(refname)%(end)"
    check(f"for-each-ref '--format={text}'", repo)
