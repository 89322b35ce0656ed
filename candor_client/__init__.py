"""A client of the REST API of ``candor serve``, to call or to await.

from candor_client import Candor

with Candor("http://127.0.0.1:8484") as candor:
    candor.ingest("papers", collection="papers")
    print(candor.ask("Which of these pumps works below -20 °C?", "papers"))
"""

from candor_client.aio import AsyncCandor
from candor_client.answer import Answer
from candor_client.client import Candor
from candor_client.errors import CandorError

__all__ = ["Answer", "AsyncCandor", "Candor", "CandorError"]
