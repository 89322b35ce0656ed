"""Embeds queries in the search process of the service."""

from pathlib import Path

from vectorstore.embedding.model_folder import BUNDLE_LANGUAGES
from vectorstore.errors import StoreUnavailable
from vectorstore.remote.address import read_address
from vectorstore.remote.client import RemoteStore
from vectorstore.settings import DEFAULT_MODEL, EmbeddingSettings
from vectorstore.store import Vectors


class RemoteQueries:
    """Implements ``QueryEmbedder`` with the search process that serves ``folder``."""

    def __init__(self, folder: Path, settings: EmbeddingSettings) -> None:
        self._folder = folder
        self.languages = BUNDLE_LANGUAGES if settings.identity == DEFAULT_MODEL else None

    def embed_query(self, text: str) -> Vectors:
        """Return a vector of shape (dimension,). Raises StoreUnavailable, EmbeddingModelError."""
        return self._process().embed_query(text)

    def attention(self, text: str) -> Vectors | None:
        """Return the attention to each character. Raises StoreUnavailable, EmbeddingModelError."""
        return self._process().attention(text)

    def _process(self) -> RemoteStore:
        address = read_address(self._folder)
        if address is None:
            raise StoreUnavailable(f"No service embeds queries for {str(self._folder)!r} any more. Start it again.")
        return RemoteStore(address)
