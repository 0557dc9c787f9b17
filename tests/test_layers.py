"""The architecture as a test: imports go down only. A new entry in the table is a decision with a record."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "server" / "ensign"

NOUNS = {"protocol"}
LEVEL_1 = {"models", "definitions", "store", "workspace", "web"}
LEVEL_2 = {"tools", "permissions", "hooks", "skills", "mcp"}

# By folder, or by the name of a module at the top of the package.
MAY_IMPORT: dict[str, set[str]] = {
    # 0
    "protocol": set(),
    # 1
    "models": NOUNS,
    "definitions": NOUNS,
    "store": NOUNS,
    "workspace": NOUNS,
    "web": NOUNS,
    # 2
    "tools": NOUNS | {"workspace", "web"},
    "permissions": NOUNS | {"workspace"},
    "hooks": NOUNS | {"workspace"},
    "skills": NOUNS | {"workspace", "tools"},
    "mcp": NOUNS | {"workspace", "tools"},
    # 3
    "runtime": NOUNS | LEVEL_1 | LEVEL_2,
    # 4
    "tasks": NOUNS | LEVEL_1 | LEVEL_2 | {"runtime"},
    # 5
    "session": NOUNS | LEVEL_1 | LEVEL_2 | {"runtime", "tasks"},
    # 6: where things are constructed
    "app": NOUNS | LEVEL_1 | LEVEL_2 | {"runtime", "tasks", "session", "config"},
    "config": NOUNS | LEVEL_1 | LEVEL_2 | {"runtime", "tasks", "session"},
    # 7: the faces, which never import each other
    "lsp": NOUNS | {"app"},
    "acp": NOUNS | {"app"},
    "cli": NOUNS | {"app", "config"},
    # Picks a face.
    "__main__": {"lsp", "acp", "cli"},
    "__init__": set(),
}
# Ships for users' tests. It sees everything, and no entry above names it.
ANYTHING = {"testing"}

# Only a face knows its wire, and only one folder the SDK of the Model Context Protocol.
WIRES = {"pygls": {"lsp"}, "lsprotocol": {"lsp"}, "mcp": {"mcp"}, "mcp_types": {"mcp"}}

FILES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(source: str) -> set[str]:
    """Return the dotted names a source imports, wherever in it: in functions and for type checkers only as well."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layer"
            # `from ensign import app` names the layer last.
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def imported_layers(source: str) -> set[str]:
    return {name.split(".")[1] for name in imported_modules(source) if name.startswith("ensign.")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_layer_imports_only_what_lies_below_it(path: Path) -> None:
    layer = layer_of(path)
    if layer in ANYTHING:
        return
    assert imported_layers(path.read_text(encoding="utf-8")) - {layer} <= MAY_IMPORT[layer]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_a_face_knows_its_wire(path: Path) -> None:
    packages = {name.split(".")[0] for name in imported_modules(path.read_text(encoding="utf-8"))}
    assert [name for name in WIRES.keys() & packages if layer_of(path) not in WIRES[name] | ANYTHING] == []


def test_the_table_itself_goes_down_only() -> None:
    """Each layer sees only layers that stand before it, except that faces and `app` stand in no order among equals."""
    order = list(MAY_IMPORT)
    upward = [
        (layer, seen)
        for layer, allowed in MAY_IMPORT.items()
        for seen in allowed
        if order.index(seen) > order.index(layer) and (layer, seen) != ("app", "config")
    ]
    assert upward == []


@pytest.mark.parametrize(
    "source",
    [
        "import ensign.lsp.server",
        "import ensign.lsp as wire",
        "from ensign import lsp",
        "from ensign.lsp import server",
        "from ensign.lsp.server import serve",
        "def late():\n    from ensign.lsp import server",
        "if TYPE_CHECKING:\n    from ensign.lsp import server",
    ],
)
def test_every_spelling_of_an_import_is_seen(source: str) -> None:
    assert imported_layers(source) == {"lsp"}
