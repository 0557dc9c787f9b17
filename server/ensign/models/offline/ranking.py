"""Which lines answer best: definitions before mentions, code before documents, rare words before common ones."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ensign.models.offline import lines
from ensign.models.offline.evidence import Evidence
from ensign.models.offline.query import Group, split_words
from ensign.protocol.value import frozen

_MAX_SHOWN = 200
_ENCLOSING_LINES = 16
_KIND_WEIGHT = {"code": 1.0, "test": 0.4, "document": 0.4, "data": 0.2, "foreign": 0.1}
_OTHER_WORD = 0.45


@frozen(kw_only=False)
class Finding:
    """A line worth showing; `name` is what it defines, or empty; `kind` is the kind of its file."""

    path: str
    line: int
    text: str
    score: float
    matched: tuple[str, ...]
    name: str
    kind: str


@frozen(kw_only=False)
class _File:
    """How much a file is about each group, 0 to 1, by its lines and by its path."""

    lines: Mapping[str, float]
    path: Mapping[str, float]


def rank(evidence: Evidence, groups: tuple[Group, ...]) -> list[Finding]:
    """Return the hits as findings, best first; a hit inside a definition that is known counts for the definition.

    Equal ones stand in the order of path and line.
    """
    matches = {place: match(text, groups) for place, text in evidence.hits.items()}
    weights = _weights(matches, groups)
    files = _files(matches, groups)
    merged: dict[tuple[str, int], Finding] = {}
    for (path, line), text in sorted(evidence.hits.items()):
        if not matches[path, line] or not text.strip() or len(text) > _MAX_SHOWN:
            continue
        score = _score(path, text, matches[path, line], weights=weights, file=files[path], groups=groups)
        home, home_text = _enclosing(path, line, text, evidence)
        matched = tuple(group.name for group in groups if group.stem in matches[path, line])
        finding = Finding(path, home, home_text, score, matched, lines.defined_name(home_text), lines.kind_of(path))
        known = merged.get((path, home))
        merged[path, home] = finding if known is None else _joined(known, finding)
    return sorted(merged.values(), key=lambda f: (-round(f.score, 6), f.path, f.line))


def _joined(one: Finding, other: Finding) -> Finding:
    """Two hits in one definition: a little more than the better one."""
    high, low = max(one.score, other.score), min(one.score, other.score)
    return replace(one, score=high + 0.15 * low, matched=tuple(dict.fromkeys([*one.matched, *other.matched])))


def _enclosing(path: str, line: int, text: str, evidence: Evidence) -> tuple[int, str]:
    """Return the definition that a line stands in, as far as the lines above are known; else the line itself."""
    if lines.defined_name(text) or lines.kind_of(path) not in ("code", "test"):
        return line, text
    known = evidence.lines.get(path, {})
    depth = lines.indent(text)
    for above in range(line - 1, max(0, line - _ENCLOSING_LINES), -1):
        candidate = known.get(above)
        if candidate is None:
            break
        if lines.is_definition(candidate) and lines.indent(candidate) < depth and len(candidate) <= _MAX_SHOWN:
            return above, candidate
    return line, text


def _score(
    path: str,
    text: str,
    found: Mapping[str, float],
    *,
    weights: Mapping[str, float],
    file: _File,
    groups: tuple[Group, ...],
) -> float:
    kind = lines.kind_of(path)
    in_name = match(name, groups) if (name := lines.defined_name(text)) else {}
    total, together, about = 0.0, 0.0, 0.0
    for group in groups:
        here = found.get(group.stem, 0.0)
        around = max(file.path.get(group.stem, 0.0), file.lines[group.stem])
        total += weights[group.stem] * (here + 0.8 * in_name.get(group.stem, 0.0) + 0.4 * around)
        together += max(min(here, 1.0), 0.5 * around)
        if not group.action:
            about = max(about, min(here, 1.0), 0.6 * around)
    total *= 1 + 0.5 * max(0.0, together - 1)
    if any(not group.action for group in groups):
        # What is done to something else answers another question.
        total *= 0.1 + 0.9 * about**1.5
    total *= _KIND_WEIGHT[kind]
    return total * lines.weight(text) if kind in ("code", "test") else total


def match(text: str, groups: Iterable[Group]) -> dict[str, float]:
    """Return how well each group is matched by `text`: 1 directly, less by another word, 2 by an exact name."""
    words = split_words(text)
    joined = "".join(words)
    lowered = text.lower()
    found: dict[str, float] = {}
    for group in groups:
        if group.exact:
            if lines.has_name(lowered, group.stem):
                found[group.stem] = 2.0
            elif group.stem.replace("_", "") in joined:
                found[group.stem] = 0.8
        elif any(word.startswith(group.stem) for word in words) or (len(group.stem) > 5 and group.stem in joined):
            found[group.stem] = 1.0
        elif any(word.startswith(other) for other in group.others for word in words):
            found[group.stem] = _OTHER_WORD
    return found


def _weights(matches: Mapping[tuple[str, int], Mapping[str, float]], groups: tuple[Group, ...]) -> dict[str, float]:
    """Words that stand in few of the files found say more; what is done says less than what it is done to."""
    seen: dict[str, set[str]] = {group.stem: set() for group in groups}
    for (path, _), found in matches.items():
        for stem, strength in found.items():
            if strength >= 1:
                seen[stem].add(path)
    total = len({path for path, _ in matches}) or 1
    return {
        group.stem: (0.4 + math.log(1 + total / (1 + len(seen[group.stem])))) * (0.6 if group.action else 1.0)
        for group in groups
    }


def _files(matches: Mapping[tuple[str, int], Mapping[str, float]], groups: tuple[Group, ...]) -> dict[str, _File]:
    counts: dict[str, dict[str, float]] = defaultdict(lambda: {group.stem: 0.0 for group in groups})
    for (path, _), found in matches.items():
        for stem, strength in found.items():
            counts[path][stem] += min(strength, 1.0)
    return {
        path: _File({stem: min(1.0, count / 6) for stem, count in by_stem.items()}, match(path, groups))
        for path, by_stem in counts.items()
    }


def spread(findings: Iterable[Finding], *, count: int, a_file: int) -> list[Finding]:
    """Return the best `count`, at most `a_file` of one file, and no two with the same text."""
    taken: list[Finding] = []
    used: dict[str, int] = defaultdict(int)
    texts: set[str] = set()
    for finding in findings:
        text = finding.text.strip()
        if used[finding.path] < a_file and text not in texts:
            taken.append(finding)
            used[finding.path] += 1
            texts.add(text)
            if len(taken) == count:
                break
    return taken
