"""Durable jobs: models, queue, runner, and the handlers of each kind of job."""
