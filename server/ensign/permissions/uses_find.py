"""`find`, whose arguments are an expression, and `test`, whose arguments are a condition."""

from __future__ import annotations

from dataclasses import replace

from ensign.permissions.programs import names
from ensign.permissions.shell_words import Command, Move, Word
from ensign.permissions.uses import DOT, Uses

_FIND_PLAIN = names(
    "-print -print0 -ls -prune -depth -d -mount -xdev -noleaf -daystart -follow -empty -executable -readable "
    "-writable -nouser -nogroup -true -false -quit -not -a -o -and -or ( ) ! , -warn -nowarn -ignore_readdir_race "
    "-H -L -P"
)
_FIND_VALUE = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin "
    "-atime -amin -ctime -cmin -newer -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -samefile "
    "-anewer -cnewer -used -fstype -lname -ilname -printf -context -newermt -newerct -newerat -D"
)
_FIND_EXEC = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_FIND_WRITE = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}


def find(uses: Uses, command: Command) -> None:
    """Tests and printing are reading; `-exec` runs commands, `-delete` and `-fprint` write."""
    uses.known = uses.read_only = True
    words = list(uses.words[1:])
    roots = _roots(uses, words)
    for root in roots:
        uses.read(root)
    while words:
        text = words.pop(0).text
        if text in _FIND_EXEC:
            words = _exec(uses, command, words, (text, roots))
        elif text in _FIND_WRITE:
            for word in words[:1]:
                uses.write(word)
            words = words[_FIND_WRITE[text] :]
        elif text == "-delete":
            uses.doubt("'-delete' deletes what is found", text)
            for root in roots:
                uses.write(root, tree=True)
        elif text in _FIND_VALUE or (text and text.startswith("-newer")):
            if words and words[0].splits:
                uses.doubt(f"{words[0].raw!r} is known only to the shell and may be any expression")
            words = words[1:]
        elif text not in _FIND_PLAIN:
            uses.doubt(f"{text or 'a word known only to the shell'!r} is not known to be a test", text or "")


def _roots(uses: Uses, words: list[Word]) -> list[Word]:
    """Take the folders that are searched off the front of `words`."""
    roots: list[Word] = []
    while words:
        text = words[0].prefix
        if text in ("-H", "-L", "-P"):
            words.pop(0)
            continue
        if text.startswith(("-", "(", "!", ",")):
            break
        word = words.pop(0)
        roots.append(word)
        if word.text is None and not text:
            uses.doubt(f"{word.raw!r} is known only to the shell and may be any expression")
    return roots or [DOT]


def _exec(uses: Uses, command: Command, words: list[Word], how: tuple[str, list[Word]]) -> list[Word]:
    action, roots = how
    end = next((at for at, word in enumerate(words) if word.text in (";", "+")), len(words))
    root = roots[0].text if len(roots) == 1 and roots[0].known else None
    inner = tuple(_found(word, root) for word in words[:end])
    moves = (*command.moves, Move(to=None, certain=True)) if action.endswith("dir") else command.moves
    text = " ".join(word.raw for word in words[:end])
    if any("\n" in (word.text or "") and "{}" in (word.text or "") for word in words[:end]):
        uses.doubt("a found name inside a program")
    uses.inner.append(replace(command, text=text, words=inner, moves=moves, redirects=(), assignments=(), feeds=()))
    uses.inner_at = len(uses.words)
    if action.startswith("-ok"):
        uses.doubt(f"{action!r} waits for an answer that nobody gives", action)
    return words[end + 1 :]


def _found(word: Word, root: str | None) -> Word:
    """`{}` is a path below the folder that was searched; within other text it is unknown."""
    if word.text is None or "{}" not in word.text:
        return word
    if word.text == "{}":
        return Word(raw="{}", text=None, prefix="", below=root)
    return Word(raw=word.raw, text=None, prefix=word.text.partition("{}")[0])


_UNARY = names("-n -z -f -d -e -r -w -x -s -L -h -p -S -b -c -g -u -k -O -G -N -t")
_BINARY = names("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef")


def test(uses: Uses) -> None:
    """`test` and `[`: unknown words only where a known operator makes them operands."""
    closing = {"[": "]", "[[": "]]"}.get(uses.words[0].text or "", "")
    words = [word for word in uses.words[1:] if word.text != closing]
    uses.known = uses.read_only = True
    if closing:
        # One rule for both names of the same test.
        uses.words = (replace(uses.words[0], raw="test", text="test", prefix="test"), *words)
    if any(word.text in ("-v", "-R") for word in words):
        uses.doubt("'-v' evaluates the name of a variable", "-v", hidden=True)
    plain = [word for word in words if word.text not in ("!", "(", ")")]
    unary = len(plain) == 2 and plain[0].text in _UNARY
    binary = len(plain) == 3 and plain[1].text in _BINARY
    if any(word.splits for word in words) or (any(word.text is None for word in words) and not (unary or binary)):
        uses.doubt("a word known only to the shell may be an operator", hidden=True)
    if unary and plain[0].text not in ("-n", "-z"):
        uses.read(plain[1])
