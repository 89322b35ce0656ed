"""Settings of the vector store and the embedding model. ``api/settings.py`` reads them."""

import json
import re
import warnings
from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from vectorstore.embedding.known_models import known_model

_CREDENTIALS = re.compile(r"""(://|^['"]?(?=[^/\s'"]*:[^/\s'"]*@))[^/\s'"]*@""")
"""The scheme and credentials before the host of a URL. The scheme is optional."""
DEFAULT_MODEL = "all-MiniLM-L6-v2"
MULTILINGUAL_MODEL = "multilingual-small"
"""multilingual-e5-small, if the extra ``multilingual`` is installed."""
DEFAULT_URLS: dict[str, str] = {"ollama": "http://127.0.0.1:11434", "openai": "https://api.openai.com/v1", "local": ""}
_DEFAULT_TOKENS = 384
"""Tokens of a passage for an endpoint, as ``estimate_tokens`` counts them: at most 400 for the tokenizers of models
that read 512."""
_NAMING = ("model", "model_name", "dimensions")  # arguments of a class that determine its vectors


class SettingsGroup(BaseModel):
    """Base of the settings classes. Instances are frozen.

    Unknown keys are rejected. Renamed keys, and keys that have become constants, cause a warning.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    renamed: ClassVar[Mapping[str, str]] = {}
    """Old key names and their new names."""
    constants: ClassVar[Collection[str]] = ()
    """Names of former settings. Each is a class attribute with its value."""

    @model_validator(mode="before")
    @classmethod
    def _read_old_names(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        current = dict(given)
        for old, new in cls.renamed.items():
            if old not in current:
                continue
            if new in current:
                raise ValueError(f"{old!r} is the old name of {new!r}; set only {new!r}")
            current[new] = current.pop(old)
            warnings.warn(f"The setting {old!r} is now called {new!r}. Rename it.", FutureWarning, stacklevel=2)
        for name in current.keys() & {*cls.constants}:
            current.pop(name)
            warnings.warn(
                f"{name!r} is no longer a setting, its value is {getattr(cls, name)}. Remove it.",
                FutureWarning, stacklevel=2,
            )  # fmt: skip
        return current


def without_password(text: str) -> str:
    """Replace user names and passwords in the URLs of a text with `***`."""
    return _CREDENTIALS.sub(r"\1***@", text)


def check_http_url(value: str) -> str:
    """Return a URL without a slash at its end. Raises ValueError."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{without_password(value)!r} is not a URL such as http://127.0.0.1:11434")
    return value.rstrip("/")


HttpUrl = Annotated[str, AfterValidator(check_http_url)]


class ModelSettings(SettingsGroup):
    """An embedding model or a reranker: on this machine, behind an endpoint, or a class of LlamaIndex."""

    base_url: HttpUrl | None = Field(default=None, description="address of the endpoint, usually up to `/v1`")
    api_key: SecretStr | None = Field(
        default=None, description="API key of the endpoint; `env:NAME` reads it from an environment variable"
    )
    timeout_s: float = Field(default=60, gt=0, description="maximum seconds of one request to the endpoint")
    retries: int = Field(default=3, ge=0, description="retries of a request after a broken connection, 429 or 5xx")
    arguments: dict[str, Any] = Field(
        default={}, description="arguments of the `llama_index` class; `env:NAME` reads one from a variable"
    )

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


class EmbeddingSettings(ModelSettings):
    """The model that embeds passages and queries, and its options."""

    constants: ClassVar[tuple[str, ...]] = ("backend", "batch_size")
    backend: ClassVar[str] = "torch"
    batch_size: ClassVar[int] = 16
    """Passages per batch. Larger batches are faster only on a GPU."""

    provider: Literal["local", "ollama", "openai", "llama_index"] = Field(
        default="local",
        description="`local` computes the model on this machine, `ollama` asks an Ollama server, `openai` any server "
        "with OpenAI's `/embeddings`, `llama_index` an embedding class of LlamaIndex",
    )
    model: str = Field(
        default=DEFAULT_MODEL,
        min_length=1,
        description="hub id or folder of a sentence-transformers model (by default, the bundled all-MiniLM-L6-v2), "
        "`multilingual-small`, name of the endpoint's model, or import path of the class",
    )
    precision: Literal["auto", "bfloat16", "float32"] = Field(
        default="auto",
        description="number format of the weights; auto is bfloat16 if the CPU computes it, otherwise float32",
    )
    device: str = Field(default="cpu", description="PyTorch device, such as cpu, cuda or mps")
    dimensions: int | None = Field(
        default=None, ge=1, description="dimensions that the endpoint's model shortens its vectors to (Matryoshka)"
    )
    query_prefix: str | None = Field(
        default=None, description="text before each query sent to the endpoint; by default, what its model expects"
    )
    passage_prefix: str | None = Field(default=None, description="text before each passage sent to the endpoint")
    max_tokens: int = Field(
        default_factory=lambda given: min(_DEFAULT_TOKENS, known_model(given["model"]).max_tokens),
        ge=32,
        description="maximum tokens of a passage for an endpoint, estimated on the high side; by default 384, or less "
        "if its model is known to read less",
    )
    encoding_format: Literal["float", "base64"] = Field(
        default="float", description="form in which an `openai` endpoint is asked for vectors; both are read"
    )
    keep_alive: str = Field(default="5m", description="how long Ollama keeps the model loaded")
    parallel: int = Field(default=4, ge=1, le=64, description="maximum concurrent requests of an ingest")
    batch_passages: int = Field(default=16, ge=1, description="maximum passages of one request")
    batch_tokens: int = Field(default=8192, ge=1, description="maximum tokens of one request")
    wait_s: float = Field(
        default=600, ge=0, description="seconds that an ingest waits for an endpoint that is away or overloaded"
    )
    price: float = Field(default=0.0, ge=0, description="price per million tokens, for the estimate of `candor doctor`")

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.provider != "local" and self.model == DEFAULT_MODEL:
            raise ValueError(f"provider = {self.provider!r} needs the name of its model: set model")
        return self

    @property
    def url(self) -> str:
        """The address of the endpoint."""
        return self.base_url or DEFAULT_URLS[self.provider]

    @property
    def prefixes(self) -> tuple[str, str]:
        """The texts before queries and before passages. A class of LlamaIndex has its own."""
        known = known_model("" if self.provider == "llama_index" else self.model)
        query = known.query if self.query_prefix is None else self.query_prefix
        return query, known.passage if self.passage_prefix is None else self.passage_prefix

    @property
    def identity(self) -> str:
        """The name of the model in a collection. Models with the same name compute the same vectors of passages."""
        if self.provider == "local":
            return self.model
        options = {name: self.arguments[name] for name in _NAMING if name in self.arguments}
        options |= {"dimensions": self.dimensions} if self.dimensions else {}
        options |= {"passage": self.prefixes[1]} if self.prefixes[1] else {}
        return f"{self.provider}:{self.model}" + (f" {json.dumps(options, default=str)}" if options else "")


def settings_for(identity: str) -> str:
    """Return the settings that choose the embedding model with this ``identity``, for a message."""
    provider, _, name = identity.partition(":")
    if provider not in ("ollama", "openai", "llama_index"):
        return f"CANDOR_STORE__EMBEDDING__MODEL={identity}"
    model, _, options = name.partition(" ")
    return f'`provider = "{provider}"` and `model = "{model}"` in [store.embedding]' + f" with {options}" * bool(
        options
    )


class RerankSettings(ModelSettings):
    """The model that orders found passages again by reading each with the query."""

    provider: Literal["none", "local", "endpoint", "llm", "llama_index"] = Field(
        default="none",
        description="`local` computes a cross-encoder on this machine, `endpoint` asks a server for `/rerank`, "
        "`llm` the language model in one call, `llama_index` a node postprocessor of LlamaIndex",
    )
    model: str = Field(
        default="",
        description="hub id or folder of a cross-encoder, name of the endpoint's model, or import path of the class",
    )
    candidates: int = Field(default=40, ge=1, le=1000, description="passages that are reranked, for each query")
    device: str = Field(default="cpu", description="PyTorch device of a `local` model")

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        if self.provider == "endpoint" and not self.base_url:
            raise ValueError('provider = "endpoint" needs the address of the server: set base_url')
        if self.provider in ("local", "llama_index") and not self.model:
            raise ValueError(f"provider = {self.provider!r} needs a model: set model")
        if self.provider == "llm" and (self.model or self.base_url):
            raise ValueError("provider = 'llm' asks the language model: leave out model and base_url")
        return self


class VectorStoreSettings(SettingsGroup):
    """The location of collections, and the model that embeds them."""

    url: str | None = Field(
        default=None,
        description="URL of a Qdrant server, or URLs of several nodes of a cluster separated by commas: the next one "
        "is used when one does not answer; without it, Qdrant runs in this process",
    )
    api_key: SecretStr | None = Field(default=None, description="API key of the Qdrant server")
    timeout_s: float = Field(default=30, ge=1, description="maximum seconds of one request to the server")
    retry_s: float = Field(
        default=30,
        ge=0,
        description="seconds for which a request is repeated while no node can answer it, such as during a restart; 0: "
        "each node is tried once",
    )
    shards: int = Field(
        default=1,
        ge=1,
        description="parts of a new collection on a server, on different nodes; more than 1 only if the "
        "memory of one node is too small (above about 5 million passages), because it affects the ranking",
    )
    replicas: int = Field(
        default=1,
        ge=1,
        description="copies of each shard of a new collection, on different nodes; 2 or 3 on a cluster, so that the "
        "collection can be used while a node is down",
    )
    write_consistency: int = Field(
        default=1,
        ge=1,
        description="copies that must confirm a write in a new collection; above 1, the loss of a disk loses no "
        "confirmed write, but fewer nodes may be down during an ingest",
    )
    on_disk: tuple[Literal["payload", "vectors"], ...] = Field(
        default=("payload",),
        description="what a new collection on a server reads from disk instead of memory: payload (texts), and vectors "
        "for collections larger than memory (above about 1 million passages per 4 GB)",
    )
    quantization: Literal["none", "int8"] = Field(
        default="none",
        description="compression of the vectors in memory in a new collection on a server; int8 needs a quarter of the "
        "memory, for more than about 1 million passages, usually with vectors on disk",
    )
    embedding: EmbeddingSettings = EmbeddingSettings()

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str | None) -> str | None:
        if url is not None and not all(part.strip() for part in url.split(",")):
            raise ValueError("name at least one URL, and no empty ones between commas")
        return url

    @model_validator(mode="after")
    def _check_copies(self) -> Self:
        if self.write_consistency > self.replicas:
            raise ValueError("write_consistency must not be greater than replicas: no more copies can confirm a write")
        return self
