"""Which searches a question is worth, step by step: wide first, then what the best hits point at."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import permutations
from typing import Any

from ensign.models.offline.evidence import Evidence
from ensign.models.offline.query import Group, Query
from ensign.models.offline.ranking import Finding, rank, spread

Planned = tuple[str, dict[str, Any]]
"""A tool's name and its input."""

STEPS = 3
_CODE = (
    "*.{py,pyi,ts,tsx,js,jsx,mjs,cjs,go,rs,java,kt,kts,rb,php,c,h,cc,cpp,hpp,cs,swift,scala,sh,bash,lua,ex,exs,erl,hs"
    ",ml,clj,dart,vue,svelte,sql,pl,r,jl,zig,nim}"
)
# Short, since people see it: what begins a definition in most languages.
_DEFINES = r"\b(class|def|enum|fn|func|function|interface|struct|trait|type)"
_CONTEXT_BEFORE = 2
_CONTEXT_LINES = 24


def plan(step: int, query: Query, evidence: Evidence, tools: Collection[str]) -> list[Planned]:
    """Return the calls of a step, from 0; those whose tool is missing are left out."""
    planned = (_wide, _closer, _callers)[step](query, evidence)
    return [call for call in planned if call[0] in tools]


def _wide(query: Query, _evidence: Evidence) -> list[Planned]:
    """Names of files, definitions, lines where the words meet, code that has them, documents."""
    groups = query.groups
    calls: list[Planned] = [_read(path, line) for path, line in query.paths[:3]]
    calls += [("Glob", {"pattern": f"**/*{_file_word(group)}*"}) for group in _telling(groups)[:2]]
    if not groups:
        return calls
    direct = "|".join(map(_direct, groups))
    calls.append(_grep(f"{_DEFINES} .*({direct})", limit=250, glob=_CODE))
    if others := "|".join(dict.fromkeys(other for group in groups for other in _others(group))):
        calls.append(_grep(rf"{_DEFINES} \w*({others})", limit=200, glob=_CODE))
    telling = [_direct(group) for group in _telling(groups)[:3]]
    if meets := "|".join(f"{one}.*{other}" for one, other in permutations(telling, 2)):
        calls.append(_grep(meets, limit=150, glob=_CODE))
    for group in _telling(groups)[:3]:
        calls.append(_grep(_direct(group), limit=250 if not group.action else 80, glob=_CODE))
    calls.append(_grep("|".join(_direct(group) for group in _telling(groups)[:2]), limit=30, glob="*.{md,rst,txt}"))
    return calls


def _closer(query: Query, evidence: Evidence) -> list[Planned]:
    """The text around the best hits, who uses what they define; without any hit, the same words more loosely."""
    best = _best(query, evidence)
    if not best:
        loose = [group.stem[:4] for group in query.groups if len(group.stem) > 4]
        return [_grep("|".join(map(re.escape, loose)), limit=80)] if loose else []
    calls: list[Planned] = [_read(finding.path, finding.line, whole=bool(finding.name)) for finding in best[:6]]
    names = list(dict.fromkeys(finding.name for finding in best if len(finding.name) > 3))[:3]
    calls += [_grep(rf"\b{re.escape(name)}\b", limit=40, glob=_CODE, ignore_case=False) for name in names]
    return calls


def _callers(query: Query, evidence: Evidence) -> list[Planned]:
    """What became one of the best only now."""
    seen = {(path, line) for path, lines in evidence.lines.items() for line in lines}
    best = [finding for finding in _best(query, evidence) if (finding.path, finding.line + 3) not in seen]
    return [_read(finding.path, finding.line, whole=bool(finding.name)) for finding in best[:4]]


def _best(query: Query, evidence: Evidence) -> list[Finding]:
    ranked = rank(evidence, query.groups)
    code = [finding for finding in ranked if finding.kind == "code"]
    return spread(code or ranked, count=8, a_file=2)


def _telling(groups: tuple[Group, ...]) -> list[Group]:
    """Names first, then things, then what is done to them; the order of the question among equals."""
    return sorted(groups, key=lambda group: (not group.exact, group.action))


def _direct(group: Group) -> str:
    return re.escape(group.name) if group.exact else re.escape(group.stem)


def _others(group: Group) -> list[str]:
    # Short words of the same meaning would match inside others: `run` in `trunk`.
    return [other if len(other) > 3 else rf"\b{other}|_{other}" for other in group.others]


def _file_word(group: Group) -> str:
    return group.stem.replace("$", "")


def _read(path: str, line: int, *, whole: bool = True) -> Planned:
    """Read from a definition on; around a mention, so that what it stands in is seen."""
    if not line:
        return "Read", {"file_path": path, "limit": 60}
    before = _CONTEXT_BEFORE if whole else _CONTEXT_LINES // 2
    return "Read", {"file_path": path, "offset": max(1, line - before), "limit": _CONTEXT_LINES}


def _grep(pattern: str, *, limit: int, glob: str = "", ignore_case: bool = True) -> Planned:
    call: dict[str, Any] = {"pattern": pattern, "output_mode": "content", "head_limit": limit}
    if ignore_case:
        call["-i"] = True
    if glob:
        call["glob"] = glob
    return "Grep", call
