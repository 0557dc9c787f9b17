"""What a server's tool answered, as the output of a tool here: text within bounds, pictures, and no bytes."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from typing import TYPE_CHECKING

from ensign.protocol.messages import Image
from ensign.tools.base import ToolContext, ToolOutput
from ensign.tools.words import harmless, output_path
from ensign.workspace.output import Output
from ensign.workspace.processes import FILE_BYTES, KEEP_BYTES

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

MAX_IMAGE_CHARS = 5_000_000
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


async def output_of(result: CallToolResult, ctx: ToolContext) -> ToolOutput:
    """Return the result; what is too long for a conversation goes to a file, as with a command's output."""
    images: list[Image] = []
    parts = [_text(block, images) for block in result.content]
    if result.structured_content is not None and not any(parts):
        parts.append(json.dumps(result.structured_content, ensure_ascii=False, indent=1))
    text = harmless("\n".join(part for part in parts if part))
    if len(text) > KEEP_BYTES // 4:
        text = await asyncio.to_thread(_shortened, text, ctx)
    return ToolOutput(
        text=text or "[no output]",
        images=tuple(images),
        is_error=bool(result.is_error),
    )


def plain(text: str) -> str:
    """Return words of a server without characters that nobody sees."""
    kept = (one for one in text if one in "\n\t" or unicodedata.category(one) not in {"Cc", "Cf", "Co", "Cs", "Cn"})
    return "".join(kept)


def _shortened(text: str, ctx: ToolContext) -> str:
    output = Output(output_path(ctx.output_dir, ctx.call_id), keep_bytes=KEEP_BYTES, file_bytes=FILE_BYTES)
    output.write(text.encode("utf-8", "replace"))
    return output.finish().text


def _text(block: ContentBlock, images: list[Image]) -> str:
    match block.type:
        case "text":
            return block.text
        case "image":
            if block.mime_type in _IMAGES and len(block.data) <= MAX_IMAGE_CHARS:
                images.append(Image(media_type=block.mime_type, data=block.data))
                return f"[picture, {block.mime_type}]"
            return f"[picture, {block.mime_type}, left out: it is too large or of a kind that models do not take]"
        case "audio":
            return f"[sound, {block.mime_type}, left out]"
        case "resource_link":
            return f"[resource {block.uri}: {block.name}]"
        case "resource":
            held = getattr(block.resource, "text", None)
            return held if isinstance(held, str) else f"[resource {block.resource.uri}, bytes, left out]"
