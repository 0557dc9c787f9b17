"""`git`: past the global options to the sub-command, and what that does."""

from __future__ import annotations

import re

from ensign.permissions.programs import names
from ensign.permissions.shell_words import Word
from ensign.permissions.uses import DOT, Uses, option_is, part

_GIT_READS = names(
    "status log diff show blame annotate shortlog describe rev-parse rev-list ls-files ls-tree cat-file name-rev "
    "merge-base for-each-ref show-ref diff-tree diff-index diff-files count-objects whatchanged cherry range-diff "
    "grep version check-ignore check-attr check-mailmap show-branch var"
)
_GIT_LISTS = {
    "branch": names("-a -r -v -vv -av --list --show-current --all --remotes --verbose --column --no-color"),
    "tag": frozenset(("-l", "--list", "-n")),
    "remote": frozenset(("-v", "--verbose")),
    "stash": frozenset(("list", "show")),
    "config": frozenset(("--get", "--list", "-l", "--get-all", "--get-regexp", "get", "list")),
    "worktree": frozenset(("list",)),
    "submodule": frozenset(("status",)),
    "reflog": frozenset(("show",)),
    "notes": frozenset(("list", "show")),
    "bisect": frozenset(("log",)),
}
_GIT_BARE = frozenset(("branch", "tag", "remote", "reflog"))
_GIT_VALUED = ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--sort", "--format", "--list")
_GIT_RISKY = (
    "--output", "--ext-diff", "--textconv", "--filters", "--exec", "--upload-pack", "--receive-pack",
    "--open-files-in-pager", "--upload-archive", "--template", "--config", "--show-signature",
)  # fmt: skip
_AWAY = re.compile(r"/|~/|\.\.(?:/|$)|.*/\.\.(?:/|$)")
_GIT_EXACT = frozenset(("--text", "--ext", "--template", "--output-indicator-new"))
_GIT_FLAGS = names(
    "-P --no-pager --no-optional-locks --no-replace-objects --literal-pathspecs --glob-pathspecs "
    "--icase-pathspecs --noglob-pathspecs --version --help --no-advice"
)
_GIT_CONFIG = re.compile(
    r"(?:color\.[\w.]+|advice\.\w+|core\.(?:quotepath|abbrev)|log\.\w+|status\.\w+|commit\.gpgsign|user\.(?:name|email)|"
    r"init\.defaultBranch|column\.\w+)(?:=[\w.,@ +-]*)?|core\.pager=(?:cat)?",
    re.IGNORECASE,
)


def git(uses: Uses) -> None:
    """Look past global options for the sub-command; listing and showing are reading."""
    rest = _git_globals(uses, list(uses.words[1:]))
    name = uses.words[0]
    uses.words = (name, *rest)
    if not rest:
        uses.read_only = not uses.doubts
        return
    sub = rest[0].text
    if sub is None:
        uses.doubt("the sub-command is known only to the shell", hidden=True)
        return
    message = False  # the word is the value of `-m`: text, never an option
    for word in rest[1:]:
        text = word.prefix
        if word.text is None and not text and not (message and not word.splits) and not word.placed:
            uses.doubt(f"{word.raw!r} is known only to the shell and may be any option")
        risky = text.startswith("--") and text.partition("=")[0] not in _GIT_EXACT
        if risky and any(option_is(text, option) for option in _GIT_RISKY):
            uses.doubt(f"{text.partition('=')[0]!r} writes a file or runs a program", text.partition("=")[0])
            if text.startswith("--o") and "=" in text:
                uses.write(part(word, text.partition("=")[2]))
        message = re.fullmatch(r"-[a-z]*m|--message|--title|--body", text) is not None
        if sub == "grep" and re.match(r"-[a-zA-Z]*O", text) and not text.startswith("--"):
            uses.doubt("'-O' runs a pager", text)
    for word in rest[1:]:
        value = word.prefix.partition("=")[2] if word.prefix.startswith("--") else word.prefix
        if _AWAY.match(value):
            # git compares and blames files outside a repository as readily as tracked ones.
            uses.read(part(word, value))
    uses.read_only = not uses.doubts and _git_reads(sub, rest[1:])
    uses.known = uses.read_only
    if sub == "grep":
        texts = [word.text for word in rest]
        for folder in rest[texts.index("--") + 1 :] if "--" in texts else [DOT]:
            uses.read(folder, tree=True)


def _git_reads(sub: str, words: list[Word]) -> bool:
    if sub in _GIT_READS:
        return True
    listing = _GIT_LISTS.get(sub)
    if listing is None:
        return sub == "symbolic-ref" and len(words) == 1 and not words[0].prefix.startswith("-")
    texts = [word.text or word.prefix for word in words]
    if not texts:
        return sub in _GIT_BARE
    if sub in ("stash", "worktree", "submodule", "notes", "bisect", "config", "reflog"):
        return texts[0] in listing
    if sub == "remote" and texts[0] == "get-url":
        return True
    valued = any(text.partition("=")[0] in _GIT_VALUED or text in ("-l", "--list") for text in texts)
    plain = all(text in listing or text.partition("=")[0] in _GIT_VALUED for text in texts if text.startswith("-"))
    return plain and (valued or all(text.startswith("-") for text in texts))


def _git_globals(uses: Uses, words: list[Word]) -> list[Word]:
    while words and words[0].prefix.startswith("-"):
        word = words.pop(0)
        text = word.text or word.prefix
        name, equals, value = text.partition("=")
        if name in ("-C", "--git-dir", "--work-tree"):
            folder = part(word, value) if equals else (words.pop(0) if words else DOT)
            uses.folders.append(folder)
            if name != "-C":
                uses.doubt(f"{name!r} chooses another repository", name)
        elif name in ("-c", "--config-env"):
            setting = words.pop(0) if words and not equals else word
            if name != "-c" or setting.text is None or not _GIT_CONFIG.fullmatch(setting.text):
                uses.doubt(f"{setting.raw!r} changes what git runs", setting.raw)
                value = setting.prefix.partition("=")[2].lstrip("!")
                uses.suspects.append(tuple(part(setting, piece) for piece in value.split()))
        elif text not in _GIT_FLAGS:
            uses.doubt(f"{name!r} changes what git runs", name)
            if not equals and name in ("--namespace", "--super-prefix", "--attr-source") and words:
                words.pop(0)
    return words
