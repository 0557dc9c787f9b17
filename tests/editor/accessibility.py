"""What axe, the usual judge of accessibility, finds in a page of ours."""

from functools import cache
from typing import Any

from playwright.async_api import Locator

from tests.editor.settings import REPOSITORY

AXE = REPOSITORY / "extension" / "node_modules" / "axe-core" / "axe.min.js"
# Rules about whole pages: ours is a part of the editor's, which has title, landmarks and headings.
OF_PAGES = ("document-title", "html-has-lang", "landmark-one-main", "page-has-heading-one", "region", "bypass")


@cache
def _script() -> str:
    off = "{" + ", ".join(f"'{rule}': {{enabled: false}}" for rule in OF_PAGES) + "}"
    return (
        "async root => { if (!window.axe) {" + AXE.read_text(encoding="utf-8") + "}"
        f"const found = await window.axe.run(root.ownerDocument, {{resultTypes: ['violations'], rules: {off}}});"
        "return found.violations; }"
    )


async def violations(root: Locator) -> list[str]:
    """Return what is wrong in the page that this element is of: rule, element, and what would mend it."""
    found: list[dict[str, Any]] = await root.evaluate(_script())
    return [f"{one['id']}: {node['html'][:200]} ({node['failureSummary']})" for one in found for node in one["nodes"]]
