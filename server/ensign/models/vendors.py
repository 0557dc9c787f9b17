"""What is particular to each vendor, as rows: a new vendor is a new row, never a new class."""

from __future__ import annotations

from typing import Literal

from ensign.protocol.settings import ProviderKind
from ensign.protocol.value import frozen


@frozen
class Vendor:
    """A vendor's way of speaking a wire format.

    Attributes:
        hosts: ends of host names by which a custom base URL is recognized as this vendor's.
        key_env, base_url_env: variables that hold the key and, if people set one, the base URL.
        key_header: the header that carries the key; `authorization` gets `Bearer ` before it.
        output_field: how a limit on the answer is called.
        cache_key: whether `prompt_cache_key` is understood (others refuse unknown fields).
        usage_option: whether `stream_options` is understood.
        effort: how thinking is asked for; `none` where it cannot be.
        echo_reasoning: the field in which reasoning must come back with a turn's calls, or empty.
        models: known ones, offered for choice.
    """

    name: str
    kind: ProviderKind
    base_url: str = ""
    hosts: tuple[str, ...] = ()
    key_env: str = ""
    base_url_env: str = ""
    needs_key: bool = True
    key_header: str = "authorization"
    headers: tuple[tuple[str, str], ...] = ()
    output_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    cache_key: bool = True
    usage_option: bool = True
    effort: Literal["none", "reasoning_effort", "budget"] = "none"
    echo_reasoning: str = ""
    models: tuple[str, ...] = ()


ANTHROPIC = Vendor(
    name="anthropic",
    kind="anthropic",
    base_url="https://api.anthropic.com",
    hosts=("api.anthropic.com",),
    key_env="ANTHROPIC_API_KEY",
    base_url_env="ANTHROPIC_BASE_URL",
    key_header="x-api-key",
    headers=(("anthropic-version", "2023-06-01"),),
    effort="budget",
    models=("claude-haiku-4-5", "claude-sonnet-4-5", "claude-opus-4-5"),
)
OPENAI = Vendor(
    name="openai",
    kind="openai",
    base_url="https://api.openai.com/v1",
    hosts=("api.openai.com",),
    key_env="OPENAI_API_KEY",
    base_url_env="OPENAI_BASE_URL",
    output_field="max_completion_tokens",
    effort="reasoning_effort",
    models=("gpt-5-mini", "gpt-5", "gpt-4.1"),
)
COMPATIBLE = Vendor(name="compatible", kind="openai", needs_key=False)
"""Any other server that speaks Chat Completions: llama.cpp, vLLM, LM Studio, a gateway."""
COMPATIBLE_ANTHROPIC = Vendor(
    name="compatible-anthropic",
    kind="anthropic",
    needs_key=False,
    key_header="x-api-key",
    headers=ANTHROPIC.headers,
    effort="budget",
)

VENDORS: tuple[Vendor, ...] = (
    ANTHROPIC,
    OPENAI,
    Vendor(
        name="azure",
        kind="openai",
        hosts=(".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"),
        key_env="AZURE_OPENAI_API_KEY",
        key_header="api-key",
        output_field="max_completion_tokens",
        effort="reasoning_effort",
    ),
    Vendor(
        name="deepseek",
        kind="openai",
        base_url="https://api.deepseek.com",
        hosts=("api.deepseek.com",),
        key_env="DEEPSEEK_API_KEY",
        cache_key=False,
        echo_reasoning="reasoning_content",
        models=("deepseek-chat", "deepseek-reasoner"),
    ),
    Vendor(
        name="mistral",
        kind="openai",
        base_url="https://api.mistral.ai/v1",
        hosts=("api.mistral.ai",),
        key_env="MISTRAL_API_KEY",
        cache_key=False,
        usage_option=False,
    ),
    Vendor(
        name="groq",
        kind="openai",
        base_url="https://api.groq.com/openai/v1",
        hosts=("api.groq.com",),
        key_env="GROQ_API_KEY",
        cache_key=False,
        output_field="max_completion_tokens",
    ),
    Vendor(
        name="openrouter",
        kind="openai",
        base_url="https://openrouter.ai/api/v1",
        hosts=("openrouter.ai",),
        key_env="OPENROUTER_API_KEY",
    ),
    Vendor(
        name="ollama",
        kind="openai",
        base_url="http://127.0.0.1:11434/v1",
        hosts=("localhost:11434", "127.0.0.1:11434"),
        needs_key=False,
        cache_key=False,
    ),
    Vendor(name="llama.cpp", kind="openai", base_url="http://127.0.0.1:8080/v1", needs_key=False),
    Vendor(name="vllm", kind="openai", base_url="http://127.0.0.1:8000/v1", needs_key=False, cache_key=False),
)


def vendor_named(name: str) -> Vendor | None:
    """Return the row of that name."""
    return next((vendor for vendor in VENDORS if vendor.name == name), None)


def vendor_at(netloc: str, kind: ProviderKind) -> Vendor:
    """Return the row for a base URL's `host[:port]`; an unknown one speaks the plain format."""
    host = netloc.lower().rpartition("@")[2]
    bare = host.rpartition(":")[0] or host
    for vendor in VENDORS:
        if vendor.kind == kind and any(host == end or bare.endswith(end) for end in vendor.hosts):
            return vendor
    return COMPATIBLE_ANTHROPIC if kind == "anthropic" else COMPATIBLE


@frozen
class Traits:
    """What is known of a family of models.

    Attributes:
        prefix: of the model's name, after any `vendor/` in it; the longest match counts.
        window: tokens that fit, prompt and reply together.
        max_output: tokens of one answer at most.
        price: US dollars for a million tokens: input, output, cache write, cache read; None when not known.
        thinks: whether effort can be asked for.
    """

    prefix: str
    window: int
    max_output: int
    price: tuple[float, float, float, float] | None = None
    thinks: bool = False


UNKNOWN = Traits(prefix="", window=128_000, max_output=8_192)

# Windows, limits and list prices as the vendors published them when a row was written; settings override windows.
TRAITS: tuple[Traits, ...] = (
    Traits(prefix="claude-", window=200_000, max_output=32_000, thinks=True),
    Traits(prefix="claude-3", window=200_000, max_output=8_192),
    Traits(prefix="claude-3-5-haiku", window=200_000, max_output=8_192, price=(0.8, 4, 1, 0.08)),
    Traits(prefix="claude-3-7-sonnet", window=200_000, max_output=64_000, price=(3, 15, 3.75, 0.3), thinks=True),
    Traits(prefix="claude-haiku-4-5", window=200_000, max_output=64_000, price=(1, 5, 1.25, 0.1), thinks=True),
    Traits(prefix="claude-sonnet-4", window=200_000, max_output=64_000, price=(3, 15, 3.75, 0.3), thinks=True),
    Traits(prefix="claude-opus-4", window=200_000, max_output=32_000, price=(15, 75, 18.75, 1.5), thinks=True),
    Traits(prefix="claude-opus-4-5", window=200_000, max_output=64_000, price=(5, 25, 6.25, 0.5), thinks=True),
    Traits(prefix="gpt-4o", window=128_000, max_output=16_384, price=(2.5, 10, 0, 1.25)),
    Traits(prefix="gpt-4o-mini", window=128_000, max_output=16_384, price=(0.15, 0.6, 0, 0.075)),
    Traits(prefix="gpt-4.1", window=1_047_576, max_output=32_768, price=(2, 8, 0, 0.5)),
    Traits(prefix="gpt-4.1-mini", window=1_047_576, max_output=32_768, price=(0.4, 1.6, 0, 0.1)),
    Traits(prefix="gpt-5", window=400_000, max_output=128_000, price=(1.25, 10, 0, 0.125), thinks=True),
    Traits(prefix="gpt-5-mini", window=400_000, max_output=128_000, price=(0.25, 2, 0, 0.025), thinks=True),
    Traits(prefix="gpt-5-nano", window=400_000, max_output=128_000, price=(0.05, 0.4, 0, 0.005), thinks=True),
    Traits(prefix="o3", window=200_000, max_output=100_000, price=(2, 8, 0, 0.5), thinks=True),
    Traits(prefix="o4-mini", window=200_000, max_output=100_000, price=(1.1, 4.4, 0, 0.275), thinks=True),
    Traits(prefix="deepseek-", window=128_000, max_output=8_192, price=(0.28, 0.42, 0, 0.028)),
    Traits(prefix="qwen2.5-coder", window=32_768, max_output=8_192),
    Traits(prefix="gemini-2.5", window=1_048_576, max_output=65_536),
)


def traits_of(model: str) -> Traits:
    """Return what is known of a model, by the longest prefix of its name."""
    name = model.lower().rpartition("/")[2]
    return max((row for row in TRAITS if name.startswith(row.prefix)), key=lambda row: len(row.prefix), default=UNKNOWN)
