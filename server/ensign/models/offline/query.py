"""What a task asks for: names, paths and words, with the other words that code may use for the same thing."""

from __future__ import annotations

import re

from ensign.protocol.value import frozen


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BASIC = _words(
    "a about after again all also an and any are as at be because been before being between both but by can could "
    "did do does doing done each either else for from get gets give got had has have how i if in into is it its just "
    "like may me might more most must my no not of off on once one only or other our out over own please same shall "
    "should so some such tell than that the their them then there these they this those through to too under until "
    "up us very was we were what when where whether which while who whom whose why will with would you your"
)
# Words of nearly every question about code: searched for only when nothing else is left.
_GENERIC = _words(
    "answer anything background behind class code codebase come defined describe directory everything exactly explain "
    "explore file files find flow folder found function functions handle handled handles handling happen happening "
    "happens implement implementation implemented kind list live lives located look made make makes mean means method "
    "methods module need part parts path piece place places program project quick repo repository show source "
    "something step subdirectory summarize summary text thing things thorough tree understand use used uses using "
    "way work works workspace write"
)
_PHRASES = (
    (re.compile(r"\b(get|gets|got|give|gives|hand|hands) (it )?back\b"), "returned"),
    (re.compile(r"\b(log|sign)(s|ged|ged)? in\b"), "login"),
    (re.compile(r"\bset(s|ting)? up\b"), "setup"),
    (re.compile(r"\bshut(s|ting)? down\b"), "shutdown"),
)
_ACTIONS = _words(
    "add build cancel chang check clean clear clos connect creat decid delet detect end execut fail fetch format "
    "generat initializ initialis launch load open pass prevent process read receiv remov render replac report retri "
    "retry return run sav send serv spawn start stop stor updat validat wait"
)
# By stem; what another author may have written.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "subagent": ("child", "spawn", "agent", "task"),
    "authentic": ("auth", "login", "signin", "credential", "password", "token", "oauth"),
    "auth": ("login", "authentic", "credential", "password", "token", "oauth"),
    "authoriz": ("permission", "access", "role", "policy", "auth"),
    "login": ("auth", "signin", "authentic"),
    "permission": ("allow", "deny", "access", "rule", "verdict"),
    "start": ("spawn", "launch", "begin", "run", "create"),
    "spawn": ("start", "launch", "fork", "create"),
    "launch": ("start", "spawn", "run"),
    "stop": ("cancel", "kill", "terminate", "abort", "shutdown"),
    "cancel": ("stop", "abort", "interrupt"),
    "delet": ("remove", "destroy", "drop", "unlink"),
    "remov": ("delete", "drop", "discard"),
    "creat": ("make", "new", "build", "insert", "add"),
    "return": ("result", "report", "envelope", "outcome", "answer"),
    "config": ("setting", "option", "preference"),
    "configur": ("config", "setting", "option"),
    "setting": ("config", "option", "preference"),
    "error": ("exception", "failure", "fault"),
    "exception": ("error", "failure"),
    "retri": ("retry", "backoff", "attempt"),
    "retry": ("backoff", "attempt", "retries"),
    "cach": ("cache", "memo", "store"),
    "stor": ("save", "persist", "database", "write"),
    "sav": ("store", "persist", "write"),
    "databas": ("db", "sql", "store", "repository"),
    "request": ("http", "fetch", "call", "client"),
    "rout": ("route", "endpoint", "url", "path", "dispatch"),
    "pars": ("parse", "decode", "read", "tokenize"),
    "render": ("draw", "display", "view", "template"),
    "test": ("spec", "check", "assert"),
    "log": ("logger", "logging", "trace"),
    "queu": ("queue", "inbox", "channel", "buffer"),
    "timeout": ("deadline", "expire", "stall"),
    "secret": ("key", "credential", "token", "password"),
    "email": ("mail", "smtp", "message"),
    "payment": ("charge", "billing", "invoice", "checkout"),
    "user": ("account", "member", "person"),
    "valid": ("check", "verify", "schema"),
    "encod": ("serialize", "dump", "encrypt"),
    "decod": ("parse", "load", "deserialize"),
    "entry": ("main", "start", "cli"),
    "entri": ("main", "start", "cli"),
}
_IDENTIFIER = re.compile(
    r"\b(?:[A-Za-z]+_[A-Za-z0-9_]+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w+)\b|\b\w+(?=\(\))"
)
_PATH = re.compile(
    r"(?<![\w/.:-])((?:[\w.@-]+/)*[\w.@-]*\w\.[A-Za-z][A-Za-z0-9]{0,9}|/?(?:[\w.@-]+/)+[\w.@-]+)(?::(\d+))?"
)
_QUOTED = re.compile(r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"")
_BLOCK = re.compile(r"<([a-z-]+)>.*?</\1>", re.DOTALL)
_MAX_GROUPS = 6


@frozen(kw_only=False)
class Group:
    """One thing asked for.

    Attributes:
        name: the word or name as the task has it.
        stem: what every direct form begins with, in lower case; an exact name for identifiers.
        others: stems of words that may mean the same.
        exact: whether it is a name of the code.
        action: whether it says what is done rather than what it is done to.
    """

    name: str
    stem: str
    others: tuple[str, ...] = ()
    exact: bool = False
    action: bool = False


@frozen(kw_only=False)
class Query:
    """All that a task asks for; `paths` with the line that was named, or 0."""

    groups: tuple[Group, ...]
    paths: tuple[tuple[str, int], ...]


def read_query(task: str) -> Query:
    """Take a task apart."""
    paths = _paths(task)
    plain = _BLOCK.sub(" ", task)
    for path, _ in paths:
        plain = plain.replace(path, " ")
    groups: dict[str, Group] = {}
    for quoted in _QUOTED.finditer(plain):
        text = (quoted.group(1) or quoted.group(2)).strip().removesuffix("()")
        if re.fullmatch(r"[\w.:$-]+", text):
            name = re.split(r"[.:]+", text)[-1]
            groups.setdefault(name.lower(), Group(name, name.lower(), exact=True))
    plain = _QUOTED.sub(lambda found: " " if found.group(1) else found.group(0), plain)
    for found in _IDENTIFIER.finditer(plain):
        groups.setdefault(found.group().lower(), Group(found.group(), found.group().lower(), exact=True))
    plain = _IDENTIFIER.sub(" ", plain).lower()
    for pattern, word in _PHRASES:
        plain = pattern.sub(word, plain)
    words = [word for word in re.findall(r"[^\W\d_]{2,}", plain) if word not in _BASIC]
    chosen = [word for word in words if word not in _GENERIC] or ([] if groups or paths else words)
    for word in chosen:
        stemmed = stem(word)
        action = stemmed in _ACTIONS or word.endswith(("ed", "ing"))
        groups.setdefault(stemmed, Group(word, stemmed, _SYNONYMS.get(stemmed, ()), action=action))
    return Query(tuple(groups.values())[:_MAX_GROUPS], paths)


def _paths(task: str) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = {}
    for match in _PATH.finditer(task):
        path = match.group(1)
        # "and/or" is no path, "e.g" no file: a folder in it or a known look of a file name.
        if re.search(r"\.[A-Za-z]\w*$", path) and not re.fullmatch(r"(e\.g|i\.e)", path):
            found.setdefault(path, int(match.group(2) or 0))
    # A file that is named by its whole path as well is one file.
    return tuple((path, line) for path, line in found.items() if not any(path.endswith(f"/{one}") for one in found))


def stem(word: str) -> str:
    """Return what the forms of an English word begin with, roughly."""
    for ending, least in (("ations", 4), ("ation", 4), ("ing", 3), ("ers", 4), ("ied", 3), ("ies", 3), ("ed", 3)):
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word.removesuffix(ending)
            if ending in ("ing", "ed", "ers") and len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            return _special(word)
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        word = word[:-1]
    if word.endswith("er") and len(word) > 6:
        word = word[:-2]
    if word.endswith("e") and len(word) > 4:
        word = word[:-1]
    return _special(word)


def _special(word: str) -> str:
    return "authentic" if word.startswith("authentic") else word


_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def split_words(text: str) -> list[str]:
    """Return the words of code or prose in lower case: `parseUrl_v2` is `parse`, `url`, `v`, `2`."""
    return [word.lower() for word in _CAMEL.findall(text)]
