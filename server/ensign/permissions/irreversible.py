"""What cannot be taken back (P14), as data: deleting, publishing, forcing, discarding."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ensign.protocol.value import frozen


@frozen
class Irreversible:
    """What cannot be taken back (P14): a rule allows it only if it spells out one of `names`.

    Attributes:
        words: sub-command words that follow the program.
        any_of: one of these words must be there as well; empty for none.
    """

    program: str
    words: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    kind: str = "deletes"

    def meant_by(self, texts: Sequence[str]) -> bool:
        """Whether these words of the program are this act."""
        plain = [text for text in texts if not text.startswith("-")]
        if plain[: len(self.words)] != list(self.words):
            return False
        return not self.any_of or any(self._is_option(text) for text in texts)

    def _is_option(self, text: str) -> bool:
        if text.partition("=")[0] in self.any_of or (text.startswith("+") and "--force" in self.any_of):
            return True
        letters = {option[1] for option in self.any_of if len(option) == 2 and option[0] == "-"}
        return re.fullmatch(r"-[a-zA-Z]{2,}", text) is not None and not letters.isdisjoint(text[1:])


_FORCE = ("--force", "-f", "--force-with-lease", "--force-if-includes", "--mirror", "--delete", "-d", "--prune")
IRREVERSIBLE: tuple[Irreversible, ...] = (
    *(
        Irreversible(program=name)
        for name in ("rm", "rmdir", "unlink", "shred", "wipe", "srm", "mkfs", "wipefs", "fdisk")
    ),
    Irreversible(program="dd", kind="overwrites"),
    Irreversible(program="truncate", kind="overwrites"),
    Irreversible(program="git", words=("push",), any_of=_FORCE, kind="force-pushes"),
    Irreversible(program="git", words=("push",), kind="pushes"),
    Irreversible(program="git", words=("reset",), any_of=("--hard", "--merge", "--keep"), kind="discards changes"),
    Irreversible(program="git", words=("clean",), kind="deletes untracked files"),
    Irreversible(program="git", words=("checkout",), any_of=("--", "-f", "--force", "."), kind="discards changes"),
    Irreversible(program="git", words=("restore",), kind="discards changes"),
    Irreversible(
        program="git",
        words=("branch",),
        any_of=("-D", "-d", "--delete", "-f", "--force", "-M"),
        kind="deletes a branch",
    ),
    Irreversible(program="git", words=("tag",), any_of=("-d", "--delete", "-f", "--force"), kind="deletes a tag"),
    Irreversible(program="git", words=("stash",), any_of=("drop", "clear"), kind="drops a stash"),
    Irreversible(program="git", words=("reflog",), any_of=("expire", "delete"), kind="expires history"),
    Irreversible(program="git", words=("gc",), any_of=("--prune", "--prune=now"), kind="prunes history"),
    Irreversible(program="git", words=("filter-branch",), kind="rewrites history"),
    Irreversible(program="git", words=("worktree", "remove"), kind="removes a worktree"),
    Irreversible(program="git", words=("update-ref",), any_of=("-d",), kind="deletes a reference"),
    Irreversible(program="git", words=("rm",), kind="deletes"),
    *(
        Irreversible(program=name, words=("publish",), kind="publishes")
        for name in (
            "npm",
            "yarn",
            "pnpm",
            "bun",
            "cargo",
            "poetry",
            "uv",
            "hatch",
            "flit",
            "pdm",
            "lerna",
            "vsce",
            "ovsx",
            "jsr",
        )
    ),
    *(Irreversible(program=name, words=("unpublish",), kind="unpublishes") for name in ("npm", "yarn", "pnpm")),
    Irreversible(program="npm", words=("deprecate",), kind="publishes"),
    Irreversible(program="cargo", words=("yank",), kind="publishes"),
    Irreversible(program="twine", words=("upload",), kind="publishes"),
    Irreversible(program="gem", words=("push",), kind="publishes"),
    Irreversible(program="gh", words=("release", "create"), kind="publishes"),
    Irreversible(program="gh", words=("release", "delete"), kind="deletes a release"),
    Irreversible(program="gh", words=("repo", "delete"), kind="deletes a repository"),
    Irreversible(program="gh", words=("pr", "merge"), kind="merges"),
    *(Irreversible(program=name, words=("push",), kind="publishes") for name in ("docker", "podman", "helm")),
    *(
        Irreversible(program=name, words=(verb, "prune"), kind="deletes")
        for name in ("docker", "podman")
        for verb in ("system", "volume", "image", "container")
    ),
    *(
        Irreversible(program=name, words=(verb,), kind="deletes")
        for name in ("docker", "podman")
        for verb in ("rm", "rmi")
    ),
    *(Irreversible(program=name, words=("volume", "rm"), kind="deletes") for name in ("docker", "podman")),
    Irreversible(program="kubectl", words=("delete",)),
    Irreversible(program="kubectl", words=("drain",), kind="evicts"),
    Irreversible(program="helm", words=("uninstall",)),
    Irreversible(program="terraform", words=("destroy",), kind="destroys"),
    Irreversible(program="terraform", words=("apply",), kind="changes infrastructure"),
    Irreversible(program="dropdb"),
    Irreversible(program="find", any_of=("-delete",)),
    Irreversible(program="rsync", any_of=("--delete", "--delete-after", "--delete-before", "--remove-source-files")),
)


def kind_of(program: str, texts: Sequence[str]) -> Irreversible | None:
    """The irreversible act that a command is, or None."""
    return next((kind for kind in IRREVERSIBLE if kind.program == program and kind.meant_by(texts)), None)
