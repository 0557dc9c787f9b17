"""What a review would say twice, as a test: sizes, who reads the environment, what belongs together and is fresh."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from ensign.protocol.typescript import render

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "server" / "ensign"
TESTS = ROOT / "tests"
EXTENSION = ROOT / "extension"
PROTOCOL_TS = EXTENSION / "src" / "protocol.ts"

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 5

# Path from the root -> why it may be longer.
LONG_FILES: dict[str, str] = {
    "extension/src/protocol.ts": "generated",
    "server/ensign/protocol/wire.py": "a flat list: one small class for each message of the contract",
}
# "path::function" -> why it may be longer, or take more parameters.
LONG_FUNCTIONS: dict[str, str] = {}
MANY_PARAMETERS: dict[str, str] = {}

# Everything below is handed the environment and the working directory it may use.
MAY_READ_ENVIRONMENT = {"app", "config", "cli", "lsp", "acp", "testing", "__main__"}
ENVIRONMENT = {"os.environ", "os.environb", "os.getenv", "os.getcwd", "Path.cwd", "Path.home", "pathlib.Path.cwd"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def python(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def typescript() -> list[Path]:
    return sorted(path for suffix in ("ts", "js", "mjs", "css") for path in (EXTENSION / "src").rglob(f"*.{suffix}"))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


every_module = pytest.mark.parametrize("path", python(PACKAGE, TESTS), ids=name_of)
every_product_module = pytest.mark.parametrize("path", python(PACKAGE), ids=name_of)


def functions(path: Path) -> Iterator[tuple[str, Function]]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, Function):
            yield f"{name_of(path)}::{node.name}", node


def code_lines(function: Function) -> int:
    """Count the lines of a function; its docstring is free."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    return lines - ((first.end_lineno or first.lineno) - first.lineno + 1) if ast.get_docstring(function) else lines


def positional_parameters(function: Function) -> int:
    arguments = [*function.args.posonlyargs, *function.args.args]
    return len([argument for argument in arguments if argument.arg not in {"self", "cls"}])


def dotted(node: ast.expr) -> str:
    """Return `a.b.c` for an attribute chain on a name, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""


@pytest.mark.parametrize("path", [*python(PACKAGE, TESTS), *typescript()], ids=name_of)
def test_a_file_can_be_read_at_a_sitting(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_FILE_LINES or name_of(path) in LONG_FILES, f"{lines} lines"


@every_module
def test_a_function_fits_on_a_screen(path: Path) -> None:
    long = {name: code_lines(function) for name, function in functions(path)}
    assert {name: n for name, n in long.items() if n > MAX_FUNCTION_LINES and name not in LONG_FUNCTIONS} == {}


@every_module
def test_many_parameters_are_a_dataclass_or_named(path: Path) -> None:
    many = {name: positional_parameters(function) for name, function in functions(path)}
    assert {name: n for name, n in many.items() if n > MAX_PARAMETERS and name not in MANY_PARAMETERS} == {}


@every_module
def test_a_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(parsed(path))


@every_product_module
def test_nothing_prints(path: Path) -> None:
    """Standard output is the wire."""
    calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call) and dotted(node.func) == "print"]
    assert [call.lineno for call in calls] == []


@every_product_module
def test_only_the_top_reads_environment_and_working_directory(path: Path) -> None:
    if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in MAY_READ_ENVIRONMENT:
        return
    tree = parsed(path)
    read = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Attribute) and dotted(node) in ENVIRONMENT]
    imported = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and any(f"{node.module}.{a.name}" in ENVIRONMENT for a in node.names)
    ]
    assert read + imported == []


def test_every_tool_has_its_words_and_every_words_a_tool() -> None:
    folder = PACKAGE / "tools"
    defining = {
        path.stem
        for path in folder.glob("*.py")
        if any(isinstance(node, ast.Call) and dotted(node.func) == "Tool" for node in ast.walk(parsed(path)))
    }
    assert {path.stem for path in folder.glob("*.md")} == defining


def test_every_decision_is_linked_from_the_architecture() -> None:
    decisions = [path.name for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    architecture = ROOT / "ARCHITECTURE.md"
    text = architecture.read_text(encoding="utf-8") if decisions else ""
    assert [name for name in decisions if f"docs/decisions/{name}" not in text] == []


def test_the_generated_typescript_is_fresh() -> None:
    assert PROTOCOL_TS.read_text(encoding="utf-8") == render()


def test_an_exception_from_these_rules_is_still_needed() -> None:
    functions_there = {name for path in python(PACKAGE, TESTS) for name, _ in functions(path)}
    assert {*LONG_FUNCTIONS, *MANY_PARAMETERS} - functions_there == set()
    assert [name for name in LONG_FILES if not (ROOT / name).exists()] == []
