"""How the language server of agent files is offered: for these alone to clients that register later, else for all.

An editor with a provider for every file asks it at every key in every file, and gives up its own folding.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ensign.protocol.value import frozen

if TYPE_CHECKING:
    from ensign.lsp.server import LanguageServer


@frozen(kw_only=False)
class _Offer:
    """One feature: its name among the client's capabilities, ours, and its options."""

    feature: str
    capability: str
    options: dict[str, Any]


_OFFERS = (
    _Offer("completion", "completionProvider", {"triggerCharacters": [" ", ",", "[", "(", "-"]}),
    _Offer("hover", "hoverProvider", {}),
    _Offer("definition", "definitionProvider", {}),
    _Offer("rename", "renameProvider", {"prepareProvider": True}),
    _Offer("foldingRange", "foldingRangeProvider", {}),
)


def offered_at_once(registers: Collection[str]) -> dict[str, Any]:
    """Return the capabilities for what the client cannot be offered later."""
    return {offer.capability: offer.options or True for offer in _OFFERS if offer.feature not in registers}


def register_later(server: LanguageServer) -> None:
    """Offer the rest, for agent files."""
    registers = server.client.registers
    later = [offer for offer in _OFFERS if offer.feature in registers]
    if later:
        server.peer.spawn(_register(server, later), "offering the language server of agent files")


async def _register(server: LanguageServer, offers: Collection[_Offer]) -> None:
    files = server.app.agent_files
    patterns = ["**/.{ensign,claude}/agents/**/*.md", *(f"{folder.as_posix()}/**/*.md" for folder in files.own)]
    selector = [{"scheme": "file", "pattern": pattern} for pattern in patterns]
    registrations = [
        {
            "id": f"ensign-{offer.feature}",
            "method": f"textDocument/{offer.feature}",
            "registerOptions": {"documentSelector": selector, **offer.options},
        }
        for offer in offers
    ]
    await server.peer.request("client/registerCapability", {"registrations": registrations})
