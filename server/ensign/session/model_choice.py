"""The main agent's model: the name it goes by, which a person may choose, and what that stands for now."""

from __future__ import annotations

from collections.abc import Callable

from ensign.models.base import Model
from ensign.models.catalog import Catalog
from ensign.protocol.errors import UserError


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

    def again(self, tell: Callable[[str], None]) -> Model | None:
        """Return another model if the name stands for one now. One that is gone stays in use, and that is told."""
        try:
            model: Model = self._models.model(self._name)
        except UserError as error:
            tell(f"The model stays as it is: {error}")
            return None
        if model is self.model:
            return None
        self.model = model
        return model
