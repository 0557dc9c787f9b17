"""Prompts that cannot lie: nothing hidden, nobody posing as somebody else."""

from __future__ import annotations

import pytest

from ensign.permissions.display import clean_name, tag, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls -la", "ls -la"),
        ("a\nb", "a\nb"),
        ("ls" + " " * 400 + "; touch x", "ls⟨400 blanks⟩; touch x"),
        ("ls\t\t\u200b\u2066; touch x", "ls⟨tab⟩⟨tab⟩⟨U+200B⟩⟨U+2066⟩; touch x"),
        ("a\rb\x1b[2Kc\x00", "a⟨U+000D⟩b⟨U+001B⟩[2Kc⟨U+0000⟩"),
        ("a\u00a0b\u3000c\u2028d", "a⟨U+00A0⟩b⟨U+3000⟩c⟨U+2028⟩d"),
        ("a\u3164b\u115fc\ufe0f\U000e0041", "a⟨U+3164⟩b⟨U+115F⟩c⟨U+FE0F⟩⟨U+E0041⟩"),
        ("⟨tab⟩", "⟨U+27E8⟩tab⟨U+27E9⟩"),
        ("naïve 日本語 🙂", "naïve 日本語 🙂"),
    ],
)
def test_everything_in_a_command_can_be_seen(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "name",
    ["main", "Main", "MAIN agent", "main\u202e", "m\u0430in", "System", "system:", "  user ", "Ensign", "m.a.i.n"],
)
def test_a_name_that_poses_is_marked_as_a_subagents(name: str) -> None:
    assert clean_name(name).startswith("subagent “")


def test_a_name_is_one_line_and_short() -> None:
    assert clean_name("Explore") == "Explore"
    assert clean_name("x" * 300) == "x" * 39 + "…"
    assert clean_name("a\n\nb] [c · d") == "a⟨newline⟩⟨newline⟩b c d"
    assert clean_name(" \n ") == "subagent"
    assert tag("Explore", "find\nit") == "Explore · find⟨newline⟩it"
    assert tag("Explore", "") == "Explore · task"
