"""Settings from all their places, nearest wins; what is wrong with any of them is reported, and the rest holds.

Places, nearest first: command line, initialization options, ENSIGN_MODEL, the project's `.ensign/settings.local.json`
and `.ensign/settings.json`, the user's `settings.json`. A system-wide policy file can only deny and ask. Nothing else
is read: no `.env`, no `.vscode/`. It blocks (files are read).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from ensign.config.convert import LEFT_OUT, UNSET, Converter
from ensign.config.json_tree import JsonText, read_json_file
from ensign.config.keys import RULE_LISTS, Key, Reach, all_keys
from ensign.config.local_rules import granted_rules, local_file, shared_file
from ensign.config.paths import StatePaths
from ensign.config.rules import check_rule
from ensign.definitions.nodes import Entry, FaultError, Items, Note, Scalar, Table, from_data, quoted
from ensign.definitions.vocabulary import did_you_mean
from ensign.protocol.access import Mode
from ensign.protocol.definition import Diagnostic, Rules
from ensign.protocol.errors import UserError
from ensign.protocol.settings import Layer, ModelSettings, Settings, SubagentSettings
from ensign.protocol.trusted import Trusted
from ensign.protocol.value import frozen

Number = TypeVar("Number", int | None, float | None)

HELD = "the value before holds"

MCP_FILE = ".mcp.json"
OPTIONS = Path("initializationOptions")
"""Stands for the editor's settings in diagnostics."""


@frozen
class Flags:
    """What the command line says. `settings_file` stands in for the user's settings file."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    mode: str | None = None
    model: str | None = None
    tools: tuple[str, ...] | None = None
    max_turns: int | None = None
    max_tokens: int | None = None
    timeout_s: float | None = None
    settings_file: Path | None = None


@frozen
class Start:
    """What the process was started with: by whom settings can be chosen besides files.

    Attributes:
        options: the settings of the editor, nested or dotted, with or without a leading `ensign`.
    """

    environ: Mapping[str, str]
    flags: Flags = Flags()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@frozen
class Loaded:
    """The settings in force, what is wrong with any place, and what each place says, for the next reading."""

    settings: Settings
    diagnostics: tuple[Diagnostic, ...]
    places: tuple[Place, ...] = field(default=(), compare=False, repr=False)


@dataclass(slots=True, kw_only=True)
class Place:
    """One place, and what it says. `saved` are allow rules that the person gave for it (see `local_rules`)."""

    layer: str
    path: Path
    reach: Reach
    saved: frozenset[str] = frozenset()
    values: dict[Key, Any] = field(default_factory=dict[Key, Any])
    rules: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


Earlier = Mapping[tuple[str, Path], Place]


def load(
    paths: StatePaths,
    start: Start,
    *,
    root: Path | None,
    trust: Trusted | None = None,
    before: Loaded | None = None,
) -> Loaded:
    """Return the settings for a workspace folder.

    Args:
        paths: where the user's files are.
        start: command line, environment and initialization options.
        root: the workspace folder; None reads no project files.
        trust: what is trusted of that folder; any other of its files can only tighten.
        before: what was read last; where a place now says something bad, what it said then holds.

    Raises:
        UserError: a flag is wrong, or the policy file cannot be read: without it nothing is safe to start.
    """
    flags = start.flags
    notes: list[Diagnostic] = []
    earlier = {(place.layer, place.path): place for place in before.places} if before else {}
    places = [_read_options(start.options, notes, earlier), _read_environ(start.environ)]
    if root is not None:
        saved = granted_rules(paths, root)
        local = Place(layer="local", path=local_file(root), reach=Reach.PROJECT, saved=saved)
        shared = Place(layer="project", path=shared_file(root), reach=Reach.PROJECT)
        places += [_read_file(place, notes, earlier, trust) for place in (local, shared)]
    user = Place(layer="user", path=flags.settings_file or paths.settings, reach=Reach.USER)
    if flags.settings_file is not None and not flags.settings_file.is_file():
        raise UserError(f"no settings file {str(flags.settings_file)!r}")
    places.append(_read_file(user, notes, earlier))
    if root is not None:
        places.append(_read_mcp_file(root / MCP_FILE, notes, earlier, trust))
    settings = _assemble(places, flags, _read_policy(paths.policy, notes))
    return Loaded(settings=settings, diagnostics=tuple(notes), places=tuple(places))


# ---- places ----------------------------------------------------------------------------------------------------------


def _read_file(place: Place, notes: list[Diagnostic], earlier: Earlier, trust: Trusted | None = None) -> Place:
    text = _text_of(place, notes, trust)
    before = _before(place, earlier)
    if isinstance(text, FaultError):
        return before or place
    if text is not None:
        notes.extend(note.diagnostic(place.path) for note in text.notes)
        _Reader(place, notes, before).read(text.table, "")
    return place


def _read_mcp_file(path: Path, notes: list[Diagnostic], earlier: Earlier, trust: Trusted | None) -> Place:
    """A project's servers as other products write them; the person's own of the same name hold instead."""
    place = Place(layer="project", path=path, reach=Reach.PROJECT)
    text = _text_of(place, notes, trust)
    before = _before(place, earlier)
    if isinstance(text, FaultError):
        return before or place
    entry = text.table.get("mcpServers") if text is not None else None
    if entry is not None:
        _Reader(place, notes, before).read(Table((entry,), entry.mark), "")
    return place


def _text_of(place: Place, notes: list[Diagnostic], trust: Trusted | None) -> JsonText | FaultError | None:
    """Read a file, and believe it as far as this very content is trusted; what is wrong with it is noted."""
    try:
        text = read_json_file(place.path)
    except FaultError as error:
        fault = error
    except OSError as error:
        fault = FaultError("unreadable", f"cannot be read: {error.strerror}")
    else:
        if text is not None and trust is not None and trust.allows(place.path, text.data):
            place.reach = Reach.TRUSTED
        return text
    notes.append(fault.note.diagnostic(place.path))
    return fault


def _before(place: Place, earlier: Earlier) -> Place | None:
    """What a place said when it was read last, no more of it than it is believed now: what tightened goes on."""
    before = earlier.get((place.layer, place.path))
    if before is None or before.reach >= place.reach:
        return before
    return replace(
        before,
        reach=place.reach,
        saved=place.saved,
        values={key: value for key, value in before.values.items() if key.reach >= place.reach},
        rules={
            kind: [rule for rule in rules if RULE_LISTS[kind][0] >= place.reach or rule in place.saved]
            for kind, rules in before.rules.items()
        },
    )


def _read_options(options: Mapping[str, Any], notes: list[Diagnostic], earlier: Earlier) -> Place:
    place = Place(layer="user", path=OPTIONS, reach=Reach.USER)
    table = from_data(options)
    assert isinstance(table, Table)
    reader = _Reader(place, notes, _before(place, earlier))
    for entry in table.entries:
        if entry.key == "ensign" and isinstance(entry.node, Table):
            reader.read(entry.node, "")
        else:
            reader.read(Table((Entry(entry.key.removeprefix("ensign."), entry.mark, entry.node),), entry.mark), "")
    return place


def _read_environ(environ: Mapping[str, str]) -> Place:
    """ENSIGN_MODEL; keys and base URLs are the model catalogue's."""
    place = Place(layer="environment", path=Path("ENSIGN_MODEL"), reach=Reach.USER)
    if model := environ.get("ENSIGN_MODEL", "").strip():
        place.values[next(key for key in all_keys() if key.name == "models.default")] = model
    return place


def _read_policy(path: Path, notes: list[Diagnostic]) -> Place:
    place = Place(layer="policy", path=path, reach=Reach.PROJECT)
    found: list[Diagnostic] = []
    _read_file(place, found, {})
    if broken := next((item for item in found if item.severity == "error" and item.code != "bad-rule"), None):
        raise UserError(f"the policy file {str(path)!r}, line {broken.line}: {broken.message}")
    notes.extend(found)
    return place


class _Reader:
    """Reads one place's table into it, key by key."""

    def __init__(self, place: Place, notes: list[Diagnostic], before: Place | None) -> None:
        self._place = place
        self._before = before
        self._notes = notes
        self._keys = {key.name: key for key in all_keys()}

    def read(self, node: Table, prefix: str) -> None:
        """Read nested and dotted keys alike."""
        for entry in node.entries:
            name = f"{prefix}{entry.key}"
            kind = name.removeprefix("permissions.")
            if kind in RULE_LISTS and kind != name:
                self._rules(kind, entry)
            elif (key := self._keys.get(name)) is not None:
                self._value(key, entry)
            elif not self._is_group(name):
                hint = did_you_mean(name, [*self._keys, *(f"permissions.{kind}" for kind in RULE_LISTS)])
                self._say(Note(entry.mark, "warning", "unknown-key", f"there is no setting {quoted(name)}{hint}"))
            elif isinstance(entry.node, Table):
                self.read(entry.node, f"{name}.")
            elif not (isinstance(entry.node, Scalar) and entry.node.value is None):
                self._say(Note(entry.node.mark, "error", "bad-value", f"{name!r} must be an object; it is left out"))

    def _is_group(self, name: str) -> bool:
        return name == "permissions" or any(known.startswith(f"{name}.") for known in self._keys)

    def _say(self, note: Note) -> None:
        self._notes.append(note.diagnostic(self._place.path))

    def _value(self, key: Key, entry: Entry) -> None:
        if self._place.reach > key.reach or self._place.layer == "policy":
            self._refuse(key.name, key.reach, entry)
            return
        converter = Converter(own=self._place.reach is Reach.USER)
        value = converter.convert(key.hint, entry.node, key.name, minimum=key.minimum)
        good = value
        if self._before is not None and any(note.severity == "error" for note in converter.notes):
            value = _held(value, self._before.values.get(key, UNSET), entry)
        for note in converter.notes:
            held = value is not good and note.severity == "error"
            self._say(replace(note, message=note.message.replace(LEFT_OUT, HELD)) if held else note)
        if value is not UNSET:
            self._place.values[key] = value

    def _refuse(self, name: str, reach: Reach, entry: Entry) -> None:
        if self._place.layer == "policy":
            note = Note(entry.mark, "warning", "policy", f"{name!r} is ignored: a policy can only deny and ask")
        elif reach is Reach.USER:
            note = Note(entry.mark, "warning", "not-from-project", f"{name!r} is never read from project files")
        else:
            note = Note(entry.mark, "warning", "untrusted", f"{name!r} is ignored: the file is not trusted")
        self._say(note)

    def _rules(self, kind: str, entry: Entry) -> None:
        """Keep the good rules. Before trust, an allow rule counts only if the person has saved that very rule."""
        name = f"permissions.{kind}"
        if isinstance(entry.node, Table) or (isinstance(entry.node, Scalar) and entry.node.value is None):
            if isinstance(entry.node, Table):
                self._say(Note(entry.node.mark, "error", "bad-value", f"{name!r} must be a list; it is left out"))
            return
        reach, _ = RULE_LISTS[kind]
        refused = bad = False
        for number, item in enumerate(entry.node.items if isinstance(entry.node, Items) else (entry.node,)):
            text = item.value.strip() if isinstance(item, Scalar) and isinstance(item.value, str) else None
            problem = "a rule is a text" if text is None else check_rule(text)
            if problem is not None or text is None:
                shown = quoted(text) if text is not None else "this entry"
                bad = True
                message = f"'{name}[{number}]': {shown} is left out: {problem}"
                self._say(Note(item.mark, "error", "bad-rule", message))
            elif self._place.reach > reach and text not in self._place.saved:
                refused = True
            else:
                self._place.rules.setdefault(kind, []).append(text)
        if refused:
            self._refuse(name, reach, entry)
        if bad and kind != "allow" and self._before is not None:
            # Rather strict than open while a line is being mended.
            self._place.rules.setdefault(kind, []).extend(self._before.rules.get(kind, ()))


def _held(value: Any, before: Any, entry: Entry) -> Any:
    """What holds after a fault: the value before, or of a mapping the entries before that are at fault now."""
    if value is UNSET:
        return before
    if not (isinstance(value, Mapping) and isinstance(before, Mapping) and isinstance(entry.node, Table)):
        return cast("Any", value)
    now, old = cast("Mapping[str, Any]", value), cast("Mapping[str, Any]", before)
    kept = {inner.key: old[inner.key] for inner in entry.node.entries if inner.key in old and inner.key not in now}
    return {**kept, **now} if kept else now


# ---- putting together ------------------------------------------------------------------------------------------------


def _assemble(places: Sequence[Place], flags: Flags, policy: Place) -> Settings:
    groups: dict[str, dict[str, Any]] = {"": {}, "models": {}, "subagents": {}}
    for place in reversed(places):
        for key, value in place.values.items():
            group = groups[key.group]
            # Entries of several places stand side by side; of one name, the nearest holds.
            both = isinstance(value, Mapping) and key.attribute in group
            group[key.attribute] = {**group[key.attribute], **value} if both else value
    others = groups[""]
    others.pop("", None)
    others["mode"] = _mode(flags.mode) or Mode(others.get("mode", Mode.DEFAULT))
    if flags.model:
        groups["models"]["default"] = flags.model
    starter = Place(layer="starter", path=Path("command line"), reach=Reach.USER)
    starter.rules = {"allow": _checked("allow", flags.allow), "deny": _checked("deny", flags.deny)}
    return Settings(
        layers=tuple(_layer(place) for place in (starter, *places, policy) if any(place.rules.values())),
        models=ModelSettings(**groups["models"]),
        subagents=SubagentSettings(**groups["subagents"]),
        tools=flags.tools,
        limits_max_turns=_positive("max-turns", flags.max_turns),
        limits_max_tokens=_positive("max-tokens", flags.max_tokens),
        limits_timeout_s=_positive("timeout", flags.timeout_s),
        **others,
    )


def _layer(place: Place) -> Layer:
    rules = Rules(**{kind: tuple(dict.fromkeys(texts)) for kind, texts in place.rules.items()})
    return Layer(name=place.layer, rules=rules, origin=str(place.path))


def _mode(text: str | None) -> Mode | None:
    if text is None:
        return None
    if text not in list(Mode):
        raise UserError(f"--mode: there is no mode {text!r}{did_you_mean(text, list(Mode))}; one of {', '.join(Mode)}")
    return Mode(text)


def _checked(flag: str, rules: Sequence[str]) -> list[str]:
    for rule in rules:
        if problem := check_rule(rule):
            raise UserError(f"--{flag} {rule!r}: {problem}")
    return list(rules)


def _positive(flag: str, value: Number) -> Number:
    if value is not None and not value > 0:
        raise UserError(f"--{flag} must be above 0, not {value}")
    return value
