"""`check-ref-format`: whether a ref name is well formed, and what a branch short-hand means.

Source: `git-check-ref-format`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import RepositoryError
from pyreftable.refs.names import check_refname, shorten

from .context import encode
from .exits import UsageExit

if TYPE_CHECKING:
    from .context import Context

_USAGE = """\
usage: {program} check-ref-format [--normalize] [<options>] <refname>
   or: {program} check-ref-format --branch <branchname-shorthand>
"""

_OPTIONS = """
    --normalize           print the name, with runs of slashes made one
    --allow-onelevel      allow names without a slash
    --refspec-pattern     allow one asterisk

"""

_HEADS = "refs/heads/"


def main(context: Context, argv: list[str]) -> int:
    """Run `check-ref-format`; status 0 if the name is well formed, 1 if not."""
    usage = _USAGE.format(program=context.program)
    if argv in (["--help"], ["--help-all"]):
        from .examples import examples_text

        usage += _OPTIONS + examples_text("check-ref-format", context.program)
        raise UsageExit(usage=usage, asked_for=True)
    if argv == ["-h"]:
        raise UsageExit(usage=usage, asked_for=True)
    if len(argv) == 2 and argv[0] == "--branch":
        return _check_branch(context, argv[1])
    normalize = allow_onelevel = refspec_pattern = False
    words = list(argv)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("--normalize", "--print"):
            normalize = True
        elif word in ("--allow-onelevel", "--no-allow-onelevel"):
            allow_onelevel = word == "--allow-onelevel"
        elif word == "--refspec-pattern":
            refspec_pattern = True
        else:
            raise UsageExit(usage=usage)
    if len(words) != 1:
        raise UsageExit(usage=usage)
    name = _collapsed(words[0]) if normalize else words[0]
    if not check_refname(name, allow_onelevel=allow_onelevel, refspec_pattern=refspec_pattern):
        return 1
    if normalize:
        context.stdout.write(encode(name) + b"\n")
    return 0


def _collapsed(name: str) -> str:
    """Without leading slashes, each run of slashes made one."""
    tail = "/" if name.endswith("/") and name.strip("/") else ""
    return "/".join(filter(None, name.split("/"))) + tail


def _check_branch(context: Context, text: str) -> int:
    name = _expanded(context, text)
    refname = _HEADS + name
    if text.startswith("-") or name == "HEAD" or not check_refname(refname):
        context.die(f"'{text}' is not a valid branch name")
    context.stdout.write(encode(name) + b"\n")
    return 0


def _expanded(context: Context, text: str) -> str:
    """The local branch that a short-hand such as `@{-1}` stands for; other text as it is.

    Outside of a repository nothing is a short-hand.
    """
    if "@{" not in text:
        return text
    from pyreftable.refs.branch_names import expand_branch, mark_at, prior_checkout

    try:
        store = context.store
    except RepositoryError:
        return text
    position = text.find("@{")
    while position >= 0 and mark_at(text, position) is None:
        position = text.find("@{", position + 1)
    if position == len(text) - len(mark_at(text, position) or "") and position >= 0:
        return _tracked(context, text, position)
    expanded = expand_branch(text, store, store.repository.config)
    if expanded is not None:
        return expanded
    prior = prior_checkout(text, store)
    return text if prior is None else prior.text + text[prior.length :]


def _tracked(context: Context, text: str, position: int) -> str:
    """The branch tracked by the one before the mark at `position`, if it is a local one."""
    from pyreftable.refs.branch_names import current_branch, expand_branch
    from pyreftable.refs.tracking import push_target_of, upstream_of

    store = context.store
    config = store.repository.config
    branch = text[:position]
    branch = expand_branch(branch, store, config) or branch
    if branch in ("", "HEAD"):
        branch = current_branch(store)
    is_push = text[position:].lower() == "@{push}"
    target = (push_target_of if is_push else upstream_of)(branch, config, store)
    if not target.startswith(_HEADS):
        return text
    return shorten(target, lambda name: store.read(name) is not None)
