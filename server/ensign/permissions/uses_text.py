"""`sed` and `awk`, whose first argument is a program."""

from __future__ import annotations

import re

from ensign.permissions.shell_words import Word
from ensign.permissions.uses import Uses, option_is, part

_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n\[]|\\[^\n])*/I?)"
_SED_HEAD = re.compile(rf"(?:{_ADDRESS}(?:\s*,\s*(?:{_ADDRESS}|[+~]\d+))?\s*!?)?\s*")
_SED_PLAIN = re.compile(r"[pPdD=nNgGhHxl{}]|[qQ]\s*\d*|:\s*\w+|[bt]\s*\w*")


def safe_sed(script: str) -> bool:
    """Whether a sed script only selects and substitutes lines: no `e`, `w`, `r`, nor their flags."""
    at = 0
    while at < len(script):
        if script[at] in "; \t\n":
            at += 1
            continue
        head = _SED_HEAD.match(script, at)
        at = head.end() if head else at
        if script[at : at + 1] in ("s", "y") and script[at : at + 1]:
            end = _substitute(script, at)
            if end is None:
                return False
            at = end
        else:
            plain = _SED_PLAIN.match(script, at)
            if not plain:
                return False
            at = plain.end()
        if script[at : at + 1] not in ("", ";", "\n", "}", "{", " ", "\t") and script[at - 1] not in "{}":
            return False
    return True


def _substitute(script: str, at: int) -> int | None:
    """Return where `s/a/b/flags` ends, or None when it is not plain."""
    delimiter = script[at + 1 : at + 2]
    if not delimiter or delimiter in "\\\n" or delimiter.isalnum() or delimiter.isspace():
        return None
    seen, position = 0, at + 2
    while position < len(script) and seen < 2:
        if script[position] == "\\":
            position += 1
        elif script[position] == delimiter:
            seen += 1
        elif script[position] == "[" and delimiter in script[position:].partition("]")[0]:
            after = script[position + 1 :]
            if delimiter in after.partition("]")[0] and after.count(delimiter) != 2 - seen:
                return None
        position += 1
    if seen < 2:
        return None
    if script[at] == "y":
        return position
    flags = re.compile(r"[gpiI0-9]*").match(script, position)
    return flags.end() if flags else position


def sed(uses: Uses) -> None:
    """Line-printing scripts are reading; `-i` writes the files; every other script asks."""
    uses.known = uses.read_only = True
    scripts: list[Word] = []
    operands: list[Word] = []
    in_place = False
    words = list(uses.words[1:])
    while words:
        word = words.pop(0)
        text = word.prefix
        if not text.startswith("-") or text == "-":
            operands.append(word)
        elif text == "--":
            operands += words
            words = []
        elif re.fullmatch(r"-[nErsuz]*e|--expression", text) and words:
            scripts.append(words.pop(0))
        elif re.fullmatch(r"-[nErsuz]*i.*", text) or option_is(text, "--in-place"):
            in_place = True
        elif text.startswith("--expression=") or re.match(r"-[nErsuz]*e.", text):
            scripts.append(Word(raw=word.raw, text=None, prefix=text))
        elif not re.fullmatch(r"-[nErsuz]+", text) and text not in _SED_LONG:
            uses.doubt(f"{text!r} is not known to be harmless", text)
    if not scripts:
        scripts, operands = operands[:1], operands[1:]
    for script in scripts:
        _script(uses, script)
    _inputs(uses, operands)
    if in_place:
        for word in operands:
            uses.write(word)


def _inputs(uses: Uses, operands: list[Word]) -> None:
    for word in operands:
        uses.read(word)
        if word.text is None and not word.prefix and not word.placed:
            uses.doubt(f"{word.raw!r} is known only to the shell and may be any path or option")


def _script(uses: Uses, script: Word) -> None:
    if script.text is not None and safe_sed(script.text):
        return
    uses.doubt("only sed scripts that select or substitute lines are known to read", script.raw)
    for target in re.findall(r"w\s*([^\s;}]+)", script.prefix):
        uses.write(part(script, target))


_SED_LONG = ("--quiet", "--silent", "--regexp-extended", "--null-data", "--posix", "--debug", "--sandbox", "--separate")


def awk(uses: Uses) -> None:
    """Programs without redirects, pipes, `system`, `getline` and `ARGV` read the files they are given."""
    uses.known = uses.read_only = True
    operands: list[Word] = []
    words = list(uses.words[1:])
    while words:
        word = words.pop(0)
        text = word.prefix
        if operands or not text.startswith("-"):
            operands.append(word)
        elif text in ("-F", "-v") and words:
            value = words.pop(0)
            if text == "-v" and not re.match(r"[A-Za-z_]\w*=", value.prefix):
                uses.doubt(f"{value.raw!r} is no assignment")
        elif not text.startswith(("-F", "-v")) and text != "--":
            uses.doubt(f"{text!r} is not known to be harmless", text)
    program = operands[0] if operands else None
    if program is None or program.text is None or _awk_acts(program.text):
        uses.doubt("only awk programs that print are known to read", program.raw if program else "")
    for word in operands[1:]:
        if word.text is None and not word.prefix and not word.placed:
            uses.doubt(f"{word.raw!r} is known only to the shell and may be any path")
        uses.read(word)


def _awk_acts(program: str) -> bool:
    text = program.replace("||", "").replace(">=", "")
    if "/" not in text and "\\" not in text:
        text = re.sub(r'"[^"\n]*"', '""', text)
    comparison = re.sub(r"(?:^|(?<=[(&{};\s]))\s*\$?\w+\s*>\s*\d+(?:\.\d+)?(?=\s*(?:[)&{]|$))", "", text)
    if "print" in program.partition(">")[0].rpartition("{")[2]:
        comparison = text
    return bool(re.search(r"[|>@]|system|getline|ARGV|ENVIRON|close|fflush|PROCINFO", comparison))
