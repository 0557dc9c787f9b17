"""Models as settings change: what a catalogue is made from, and what the main agent's model stands for now."""

from __future__ import annotations

from collections.abc import Callable

from ensign.models.base import Model
from ensign.models.catalog import Catalog
from ensign.models.clock import SystemClock
from ensign.models.remote import Policies
from ensign.models.retry import RetryPolicy
from ensign.models.watchdog import StreamLimits
from ensign.protocol.errors import UserError
from ensign.protocol.events import Event, Notice, Who
from ensign.protocol.settings import ModelSettings, Settings


class ModelChoice:
    """Resolves a name anew when settings change."""

    def __init__(self, models: Catalog, name: str) -> None:
        """Raises `UserError` when there is no such model."""
        self._models = models
        self._name = name
        self.model = models.model(name)

    def take(self, name: str) -> Model:
        """Return the model that a person chose; raises `UserError` when there is none."""
        self.model, self._name = self._models.model(name), name
        return self.model

    def again(self, who: Who, emit: Callable[[Event], None]) -> Model | None:
        """Return another model if the name stands for one now. One that is gone stays in use, and that is said."""
        try:
            model: Model = self._models.model(self._name)
        except UserError as error:
            emit(Notice(**who, level="warning", text=f"The model stays as it is: {error}"))
            return None
        if model is self.model:
            return None
        self.model = model
        return model


def model_terms(settings: Settings) -> tuple[ModelSettings, Policies]:
    """What a catalogue of models is made from: the models, and how requests are retried and watched (A11)."""
    subagents = settings.subagents
    limits = StreamLimits(first_token_s=subagents.first_token_seconds, stall_s=subagents.stall_seconds)
    return settings.models, Policies(retry=RetryPolicy(), limits=limits, clock=SystemClock())
