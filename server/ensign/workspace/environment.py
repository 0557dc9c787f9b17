"""The environment of a command that an agent runs: what programs need, and no key of ours or the user's."""

from __future__ import annotations

import re
from collections.abc import Mapping

_KEY_WORDS = re.compile(
    r"(^|_)(API_?KEYS?|KEYS?|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|PAT|CONNECTION_STRING)(_|$)"
    r"|APIKEY|ACCESSKEY|SECRETKEY",
    re.IGNORECASE,
)
"""By word, so that `SSH_AUTH_SOCK`, `KEYBOARD` and `MONKEY` stay."""
_OURS = re.compile(r"^(ENSIGN|OPENAI|ANTHROPIC|CLAUDE)_", re.IGNORECASE)
_CODE = re.compile(r"^(BASH_ENV|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|RIPGREP_CONFIG_PATH)$")
"""Read by a shell before the command line: with them a line would not mean what was judged."""
_ELSEWHERE = re.compile(
    r"^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|NAMESPACE|PREFIX)$"
)
"""Left over from a git hook that started us: with them git means another repository than the folder it runs in."""
_MIN_SECRET = 8

_FIXED = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}


_NEEDED = re.compile(
    r"^(HOME|LOGNAME|USER|PATH|SHELL|LANG|LC_[A-Z]+|TZ|TMPDIR|XDG_[A-Z]+_(HOME|DIR)|SYSTEMROOT|TEMP|TMP)$"
)


def is_ours(name: str) -> bool:
    """Whether a variable is Ensign's own, or the key of a model that it uses."""
    return _OURS.match(name) is not None


def minimal_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return the few variables without which programs do not run, for programs that are not the person's commands."""
    return {name: value for name, value in base.items() if _NEEDED.match(name)}


def child_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return `base` without keys, tokens and passwords, also where another variable repeats the value of one."""
    dropped = {name for name in base if _KEY_WORDS.search(name) or _OURS.match(name) or _CODE.match(name)}
    dropped |= {name for name in base if _ELSEWHERE.match(name)}
    secrets = {base[name] for name in dropped if _KEY_WORDS.search(name) and len(base[name]) >= _MIN_SECRET}
    kept = {
        name: value
        for name, value in base.items()
        if name not in dropped and not any(secret in value for secret in secrets)
    }
    return kept | _FIXED
