"""The words of the offline policy: what it found, line by line, and what it is."""

from __future__ import annotations

from ensign.models.offline.evidence import Evidence
from ensign.models.offline.query import Query
from ensign.models.offline.ranking import Finding, match, rank, spread

NOT_A_MODEL = (
    "_Written by Ensign's offline mode, which is not a language model: it searches by fixed rules and understands "
    "nothing. Set a model for answers that do (`ENSIGN_MODEL`, or the setting `ensign.models`)._"
)
_BLOCK_LINES = 8
_MAX_CHARS = 7_000


def findings_report(task: str, query: Query, evidence: Evidence) -> str:
    """Return ranked findings; every `path:line` and every line of code shown was returned by a tool."""
    ranked = rank(evidence, query.groups)
    code = [finding for finding in ranked if finding.kind == "code"]
    main = spread(code, count=8, a_file=3) or spread(ranked, count=8, a_file=3)
    shown = {(finding.path, finding.line) for finding in main}
    rest = [finding for finding in ranked if (finding.path, finding.line) not in shown]
    sections = [_title(task), _opening(query, evidence, main)]
    sections += [_entry(number, finding, evidence) for number, finding in enumerate(main, 1)]
    for heading, kind in (("In tests", "test"), ("In documents", "document")):
        others = spread([finding for finding in rest if finding.kind == kind], count=3, a_file=1)
        if others:
            lines = [f"- `{other.path}:{other.line}` {_code(other.text)}" for other in others]
            sections.append("\n".join([f"### {heading}", *lines]))
    if not main and evidence.files:
        sections.append("\n".join(["### Files by name", *(f"- `{path}`" for path in list(evidence.files)[:10])]))
    named = [block for path, line in query.paths if (block := _whole(path, line, evidence))]
    sections[2:2] = named
    if evidence.troubles:
        sections.append(
            "Not everything could be searched:\n" + "\n".join(f"- {text}" for text in evidence.troubles[:5])
        )
    return _fitted([*sections, NOT_A_MODEL])


def _title(task: str) -> str:
    first = next((line.strip() for line in task.splitlines() if line.strip()), "the task")
    return f"## {first[:120]}{'…' if len(first) > 120 else ''}"


def _opening(query: Query, evidence: Evidence, main: list[Finding]) -> str:
    words = ", ".join(f"*{group.name}*" for group in query.groups) or "the files named"
    matching = [path for (path, _), text in evidence.hits.items() if match(text, query.groups)]
    files = len(set(matching))
    looked = f"Searched for {words}: {_count(len(matching), 'matching line')} in {_count(files, 'file')}."
    if not main:
        return f"{looked} Nothing found matches well; other words for the same thing may help."
    best = main[0]
    what = f", which defines `{best.name}`" if best.name else ""
    return f"{looked} The best match is `{best.path}:{best.line}`{what}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _entry(number: int, finding: Finding, evidence: Evidence) -> str:
    what = f"defines `{finding.name}`" if finding.name else f"mentions {', '.join(finding.matched)}"
    heading = f"### {number}. `{finding.path}:{finding.line}` {what}"
    block = _context(finding, evidence)
    return f"{heading}\n{_fence(block)}"


def _context(finding: Finding, evidence: Evidence) -> list[tuple[int, str]]:
    """Return the line and, of a definition, what follows it as far as it is known."""
    known = evidence.lines.get(finding.path, {})
    block = [(finding.line, finding.text)]
    while finding.name and len(block) < _BLOCK_LINES and (following := block[-1][0] + 1) in known:
        block.append((following, known[following]))
    while not block[-1][1].strip():
        block.pop()
    return block


def _whole(path: str, line: int, evidence: Evidence) -> str:
    """A file that the task named: how it begins, or the part around the line named."""
    known = evidence.lines.get(path, {})
    lines = sorted(known.items())[:20]
    return f"### `{path}:{line if line in known else lines[0][0]}` was named\n{_fence(lines)}" if lines else ""


def _fence(block: list[tuple[int, str]]) -> str:
    width = len(str(block[-1][0]))
    ticks = "````" if any("```" in text for _, text in block) else "```"
    return "\n".join([ticks, *(f"{line:>{width}}  {text}" for line, text in block), ticks])


def _code(text: str) -> str:
    shown = text.strip()
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def _fitted(sections: list[str]) -> str:
    """Drop whole sections from the end, but for the last, until the report fits what a parent takes."""
    while len("\n\n".join(sections)) > _MAX_CHARS and len(sections) > 3:
        del sections[-2]
    return "\n\n".join(sections)
