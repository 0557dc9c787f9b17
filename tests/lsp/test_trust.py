"""`ensign/trust/*`, what editors without our page are told of it, and an editor that does not trust the folder."""

from __future__ import annotations

from ensign.protocol.trust import FolderTrust, TrustFile, TrustListed, TrustSet
from tests.lsp.conftest import Near

OURS = {"ensign": {"approvals": True}}


def listed(notice: str) -> TrustListed:
    file = TrustFile(
        kind="mcp", name=".mcp.json", path="/w/.mcp.json", hash="h", asks=("a",), content="{}", trusted=False,
        changed=False,
    )  # fmt: skip
    folder = FolderTrust(path="/w", trusted=False, restricted=False, notice=notice, files=(file,))
    return TrustListed(folders=(folder,))


async def test_trust_is_listed_and_given_over_the_wire(near: Near) -> None:
    await near.client.initialize(experimental=OURS)
    assert await near.client.request("ensign/trust/get", {}) == {"result": {"folders": []}}
    near.app.trust.listed = listed("x")
    answer = await near.client.request("ensign/trust/set", {"path": "/w", "trusted": True, "hashes": {"a": "b"}})
    assert near.app.trust.said == [TrustSet(path="/w", trusted=True, hashes={"a": "b"})]
    assert answer["result"]["folders"][0]["files"] == [
        {"kind": "mcp", "name": ".mcp.json", "path": "/w/.mcp.json", "hash": "h", "asks": ["a"], "content": "{}",
         "trusted": False, "changed": False}
    ]  # fmt: skip
    wrong = await near.client.request("ensign/trust/set", {"path": "/w", "trusted": True, "hashes": ["a"]})
    assert wrong["error"]["code"] == -32602


async def test_an_editor_without_our_page_is_told_once_for_each_change(near: Near) -> None:
    await near.client.initialize()
    await near.client.request("ensign/session/list", {})
    for notice, count in (("one", 1), ("one", 1), ("two", 2)):
        near.app.trust.listed = listed(notice)
        near.app.change("trust")
        await near.client.sent("window/showMessage", count)
    assert [one["message"] for one in await near.client.sent("window/showMessage", 2)] == [
        "Ensign: one. `ensign trust` in /w shows them, and trusts them.",
        "Ensign: two. `ensign trust` in /w shows them, and trusts them.",
    ]


async def test_an_editor_that_does_not_trust_the_folder_says_so(near: Near) -> None:
    await near.client.initialize(experimental={"ensign": {"approvals": True, "trusted": False}})
    await near.client.request("ensign/session/list", {})
    assert near.app.trust.restricted
