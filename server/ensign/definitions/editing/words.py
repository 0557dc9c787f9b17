"""The table of fields in words, for completion, hover and the page in the docs."""

from __future__ import annotations

from ensign.definitions.fields import FIELDS, Field, Kind

BY_NAME = {field.name: field for field in FIELDS}


def field_of(keys: tuple[str, ...]) -> Field | None:
    """The field that a value below these keys belongs to."""
    return BY_NAME.get(keys[0]) if keys else None


def field_help(field: Field) -> str:
    """Return Markdown: what a field means, what it accepts, an example."""
    accepts = field.kind.value
    if field.kind in (Kind.CHOICE, Kind.MODE):
        accepts = "one of " + ", ".join(f"`{value}`" for value in field.values)
    lines = [field.meaning, "", f"Accepts {accepts}." + (" Required." if field.required else "")]
    lines += [f"- `{value}`: {meaning}" for value, meaning in field.meanings]
    return "\n".join([*lines, "", "```yaml", f"{field.name}: {field.example}", "```"])


def first_sentence(text: str) -> str:
    """The first sentence of a description."""
    line = " ".join(text.split())
    end = line.find(". ")
    return line if end < 0 else line[: end + 1]


def page() -> str:
    """The reference page of the docs."""
    head = (
        "# Fields of an agent file\n\n"
        "A Markdown file below `.ensign/agents` or `.claude/agents`, of a project or of yours. It opens with the "
        "fields between two lines `---`; the text below them is the agent's role.\n\n"
        "Made from the table by which the server reads, completes and explains them: "
        "`server/ensign/definitions/fields.py`.\n"
    )
    return head + "".join(f"\n## {field.name}\n\n{field_help(field)}\n" for field in FIELDS)
