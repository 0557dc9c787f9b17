"""Which models there are: references in settings, calls and definitions, resolved to models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal
from urllib.parse import urlsplit

from ensign.models.base import Model
from ensign.models.credentials import Secret, read_key
from ensign.models.http import HttpPool, is_loopback
from ensign.models.remote import Endpoint, Policies, RemoteModel
from ensign.models.vendors import VENDORS, Traits, Vendor, traits_of, vendor_at, vendor_named
from ensign.models.wire import Wire
from ensign.protocol.errors import ModelError, ModelErrorKind, UserError
from ensign.protocol.settings import ModelSettings, ProviderKind, ProviderSettings
from ensign.protocol.wire import ModelInfo

OFFLINE: Literal["offline"] = "offline"
ROLES = ("default", "small", "large")
ALIASES = ("haiku", "sonnet", "opus")


class Catalog:
    """Resolves references: a role, an alias, `provider/model`, or `offline`.

    Keys are looked up at every request: first those that a client handed over, then `environment`. A key alone
    chooses nothing: without a model named in `settings` or in ENSIGN_MODEL the default is `offline`, so that no text
    leaves the machine because of a variable that another tool needed.
    """

    def __init__(
        self, settings: ModelSettings, environment: Mapping[str, str], http: HttpPool, policies: Policies
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._http = http
        self._policies = policies
        self._keys: dict[str, Secret] = {}
        self._models: dict[str, Model] = {}

    def configure(self, settings: ModelSettings, policies: Policies) -> None:
        """Resolve by other settings from now on. Models that are in use stay as they are; keys are kept."""
        if (settings, policies.limits) != (self._settings, self._policies.limits):
            self._settings, self._policies = settings, policies
            self._models = {}

    def beside(self, settings: ModelSettings, policies: Policies) -> Catalog:
        """Return a catalogue by other settings that shares keys and connections with this one."""
        other = Catalog(settings, self._environment, self._http, policies)
        other._keys = self._keys
        return other

    def references(self) -> dict[str, str | None]:
        """Return roles and aliases with the ids they stand for; None where nothing is set, or nothing valid."""
        names = (*ROLES, *ALIASES, *self._settings.aliases)
        return {name: self._target_or_none(name) for name in dict.fromkeys(names)}

    def _target_or_none(self, name: str) -> str | None:
        try:
            return self.target(name)
        except UserError:
            return None

    def set_key(self, provider: str, key: str) -> None:
        """Use this key for a provider from the next request on; an empty one is forgotten.

        Raises:
            UserError: no such provider, or no key.
        """
        self._provider(provider)
        self._keys[provider] = read_key(key, provider)

    def target(self, reference: str) -> str | None:
        """Return the id (`provider/model` or `offline`) that a reference stands for.

        None for a role or an alias that nothing is set for: the caller then uses the parent's model (A13). The role
        `default` always has a target.

        Raises:
            UserError: unknown, with what would be valid.
        """
        seen: list[str] = []
        name = reference.strip() or "default"
        while True:
            key = name.lower()
            if key in seen:
                raise UserError(f"model {reference!r} refers to itself: {' -> '.join([*seen, key])}")
            seen.append(key)
            aliases = {alias.lower(): value for alias, value in self._settings.aliases.items()}
            if key in ROLES:
                name = getattr(self._settings, key) or (self._default() if key == "default" else "")
            elif key in ALIASES or key in aliases:
                name = aliases.get(key, "")
            else:
                return self._checked(name)
            if not name:
                return None

    def model(self, reference: str) -> Model:
        """Return the model for a reference; where nothing is set for it, the default's.

        Raises:
            UserError: unknown, or its provider is set up wrongly.
        """
        identifier = self.target(reference) or self.target("default") or OFFLINE
        if identifier not in self._models:
            self._models[identifier] = self._make(identifier)
        return self._models[identifier]

    def roles(self) -> dict[str, str]:
        """Return the ids that `default`, `small` and `large` stand for."""
        default = self.target("default") or OFFLINE
        return {role: self.target(role) or default for role in ROLES}

    def places(self) -> dict[str, str]:
        """Return the base URLs of the providers."""
        return {provider: self._provider(provider)[0].base_url for provider in self._providers()}

    def list_models(self, found: Mapping[str, tuple[str, ...] | None] | None = None) -> tuple[ModelInfo, ...]:
        """Return what can be chosen, ready ones first, each with what it lacks.

        Args:
            found: what servers on this machine answered (`local.find_models`); None for one that did not.
        """
        offline = ModelInfo(id=OFFLINE, label="offline (no language model)", provider=OFFLINE, ready=True)
        listed: dict[str, ModelInfo] = {OFFLINE: offline}
        answers = found or {}
        named = [
            f"{provider}/{name}"
            for provider in self._providers()
            for name in (*(answers.get(provider) or ()), *self._known_names(provider))
        ]
        for identifier in (*named, *self.roles().values()):
            info = self._info(identifier)
            if info.ready and info.provider in answers and answers[info.provider] is None:
                where = self.places()[info.provider]
                info = replace(info, ready=False, problem=f"no server answers at {where}; start it")
            listed.setdefault(identifier, info)
        return tuple(sorted(listed.values(), key=lambda info: (not info.ready, info.provider != OFFLINE)))

    def _info(self, identifier: str) -> ModelInfo:
        provider, _, name = identifier.partition("/")
        problem = self._problem(provider)
        return ModelInfo(id=identifier, label=name, provider=provider, ready=not problem, problem=problem)

    # ---- references

    def _default(self) -> str:
        return self._environment.get("ENSIGN_MODEL", "").strip() or OFFLINE

    def _checked(self, name: str) -> str:
        if name.lower() == OFFLINE:
            return OFFLINE
        provider, slash, model = name.partition("/")
        if not slash:
            owners = [provider for provider in self._providers() if name in self._known_names(provider)]
            if len(owners) == 1:
                return f"{owners[0]}/{name}"
            raise UserError(f"no model {name!r}; valid are {self._valid()}")
        if provider not in self._providers() or not model:
            raise UserError(f"no model {name!r}: there is no provider {provider!r}; valid are {self._valid()}")
        return OFFLINE if self._kind(provider) == OFFLINE else name

    def _known_names(self, provider: str) -> tuple[str, ...]:
        entry, row = self._settings.providers.get(provider), vendor_named(provider)
        return (*(entry.models if entry else ()), *(row.models if row else ()))

    def _valid(self) -> str:
        providers = ", ".join(f"'{provider}/MODEL'" for provider in self._providers())
        return f"{', '.join(map(repr, (*ROLES, *ALIASES, OFFLINE)))}, {providers}"

    # ---- providers

    def _providers(self) -> tuple[str, ...]:
        built_in = [row.name for row in VENDORS if row.base_url]
        return tuple(dict.fromkeys([*self._settings.providers, *built_in]))

    def _kind(self, provider: str) -> ProviderKind:
        entry = self._settings.providers.get(provider)
        row = vendor_named(provider)
        return entry.kind if entry else row.kind if row else OFFLINE

    def _provider(self, name: str) -> tuple[ProviderSettings, Vendor]:
        """Return a provider's settings, completed from its row and the environment, and the row to speak by."""
        if name not in self._providers():
            raise UserError(f"no provider {name!r}; there are {', '.join(map(repr, self._providers()))}")
        entry, row = self._settings.providers.get(name), vendor_named(name)
        kind = self._kind(name)
        row = row if row and row.kind == kind else None
        own = entry.base_url if entry else ""
        base_url = own or (self._environment.get(row.base_url_env, "") if row and row.base_url_env else "")
        vendor = row if row and not base_url else vendor_at(urlsplit(base_url).netloc, kind)
        completed = ProviderSettings(
            kind=kind,
            base_url=base_url or (row.base_url if row else ""),
            key_env=(entry.key_env if entry else "") or (row.key_env if row else vendor.key_env),
            headers=entry.headers if entry else {},
            context_window=entry.context_window if entry else None,
        )
        return completed, vendor

    def _problem(self, provider: str) -> str:
        """Say in words what is missing before requests can succeed, or nothing."""
        try:
            endpoint = self._endpoint(provider, "")
            if not endpoint.needs_key or endpoint.key():
                return ""
        except (UserError, ModelError) as error:
            return str(error)
        return f"needs a key: set {endpoint.key_env}" if endpoint.key_env else "needs a key"

    def _endpoint(self, provider: str, model: str) -> Endpoint:
        entry, vendor = self._provider(provider)
        parts = urlsplit(entry.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise UserError(
                f"provider {provider!r} needs a base URL such as 'https://host/v1', without user or password"
            )

        def key() -> Secret:
            known = self._keys.get(provider)
            if known or not entry.key_env:
                return known or Secret("")
            try:
                return read_key(self._environment.get(entry.key_env, ""), entry.key_env)
            except UserError as error:
                raise ModelError(str(error), kind=ModelErrorKind.AUTH, retryable=False) from None

        return Endpoint(
            provider=provider,
            model=model,
            vendor=vendor,
            base_url=f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}",
            query=parts.query,
            key=key,
            key_env=entry.key_env,
            needs_key=vendor.needs_key and not is_loopback(parts.hostname),
            headers=tuple((name, Secret(value)) for name, value in entry.headers.items()),
        )

    def _make(self, identifier: str) -> Model:
        # A start pays only for the format that it speaks.
        if identifier == OFFLINE:
            from ensign.models.offline.model import OfflineModel

            return OfflineModel()
        provider, _, name = identifier.partition("/")
        endpoint = self._endpoint(provider, name)
        entry, vendor = self._provider(provider)
        traits = traits_of(name)
        return RemoteModel(
            endpoint,
            _wire(entry.kind, name, vendor, traits),
            self._http,
            self._policies,
            context_window=entry.context_window or traits.window,
        )


def _wire(kind: ProviderKind, name: str, vendor: Vendor, traits: Traits) -> Wire:
    if kind == "anthropic":
        from ensign.models.anthropic import AnthropicWire

        return AnthropicWire(name, vendor, traits)
    from ensign.models.openai import OpenAiWire

    return OpenAiWire(name, vendor, traits)
