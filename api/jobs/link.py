"""The messages between a service and its worker, over one ``Channel`` of ``base/rpc.py``."""

from __future__ import annotations

from pydantic import Field

from api.jobs.models import JobState
from base.models import FrozenModel
from base.rpc import Failure
from multi_agent.values.events import Event


class Order(FrozenModel):
    """A request of the service to its worker."""

    cancel: str = Field(default="", description="the job to cancel")
    stop: bool = Field(default=False, description="pause all jobs and exit")


class News(FrozenModel):
    """A report of the worker. Each message has one of the fields."""

    ready: bool = Field(default=False, description="the worker takes jobs now")
    event: Event | None = Field(default=None, description="an event of a run, which is stored")
    released: str = Field(default="", description="the run that the worker has ended or paused")
    states: dict[str, JobState] | None = Field(default=None, description="the active jobs, after a change")
    cancelled: str = Field(default="", description="the job of an order to cancel that was carried out")
    failure: Failure | None = Field(default=None, description="why that job could not be cancelled")
