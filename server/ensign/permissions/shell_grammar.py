"""The grammar's reading of a shell line, compared with the lexer's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ensign.permissions.programs import names
from ensign.permissions.shell_words import Fault
from ensign.protocol.value import frozen

if TYPE_CHECKING:
    from tree_sitter import Node

_SEEN = names(
    "program list pipeline command command_name redirected_statement subshell compound_statement negated_command "
    "case_statement case_item for_statement while_statement do_group if_statement elif_clause else_clause "
    "variable_assignment variable_assignments declaration_command unset_command test_command unary_expression "
    "binary_expression negation_expression parenthesized_expression test_operator word string string_content "
    "raw_string ansi_c_string number concatenation simple_expansion expansion special_variable_name variable_name "
    "command_substitution process_substitution arithmetic_expansion brace_expression file_redirect "
    "file_descriptor heredoc_redirect heredoc_start heredoc_body heredoc_content heredoc_end herestring_redirect "
    "comment regex extglob_pattern"
)
_FLOW_ONLY = {"function_definition": "a function is defined"}
_WORDS = names(
    "word string raw_string ansi_c_string number concatenation simple_expansion expansion command_substitution "
    "process_substitution arithmetic_expansion brace_expression variable_assignment command_name "
    "translated_string variable_name extglob_pattern regex"
)
_HOLDERS = names("for_statement case_statement case_item file_redirect herestring_redirect heredoc_redirect")


@frozen
class Reading:
    """What the lexer found.

    Attributes:
        spans: all words of commands, redirects, loops and `case`.
        heads: where commands begin.
        keywords: where reserved words stand.
        tests: `[ … ]` and `[[ … ]]`, whose inside the grammar parts in its own way.
    """

    spans: set[tuple[int, int]]
    heads: set[int]
    keywords: set[int]
    tests: list[tuple[int, int]]


def compare(root: Node, runs: Reading) -> list[Fault]:
    """Say where the grammar's reading is not the lexer's, or goes beyond what is known."""
    if root.has_error:
        return [Fault(reason="is no complete shell line")]
    faults: dict[str, Fault] = {}
    spans: set[tuple[int, int]] = set()
    heads: set[int] = set()
    tests: list[tuple[int, int]] = list(runs.tests)
    stack = [root]
    while stack:
        node = stack.pop()
        kind = node.type
        if node.is_named and kind not in _SEEN:
            flow = _FLOW_ONLY.get(kind)
            faults[kind] = Fault(reason=flow or f"uses {kind.replace('_', ' ')}", hidden=flow is None)
        if kind == "test_command":
            tests.append((node.start_byte, node.end_byte))
        stack.extend(node.children)
        _collect(node, spans, heads)
    inside = [span for span in spans | runs.spans if any(a <= span[0] and span[1] <= b for a, b in tests)]
    ours = {span for span in runs.spans if span not in inside}
    theirs = {span for span in spans if span not in inside and span[0] not in runs.keywords}
    lost = any(head not in runs.heads and head not in runs.keywords and not _within(head, tests) for head in heads)
    if ours != theirs or lost:
        faults["differ"] = Fault(reason="can be read in more than one way")
    return list(faults.values())


def _within(at: int, ranges: list[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in ranges)


def _collect(node: Node, spans: set[tuple[int, int]], heads: set[int]) -> None:
    """Add the words that are direct parts of a command, assignment, loop or redirect, and where commands begin."""
    kind = node.type
    if kind in ("command", "declaration_command", "unset_command"):
        words = [child for child in node.children if child.type in _WORDS or kind != "command"]
        words = [child for child in words if not child.type.endswith("_redirect")]
        spans.update((child.start_byte, child.end_byte) for child in words)
        if words:
            heads.add(words[0].start_byte)
    elif kind in (
        "for_statement",
        "case_statement",
        "case_item",
        "file_redirect",
        "herestring_redirect",
        "heredoc_redirect",
    ):
        spans.update((child.start_byte, child.end_byte) for child in node.children if child.type in _WORDS)
    elif kind == "variable_assignment" and node.parent and node.parent.type not in ("command", "declaration_command"):
        spans.add((node.start_byte, node.end_byte))
        heads.add(node.start_byte)
