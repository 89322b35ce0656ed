"""Durable jobs: models, queue, runner, and one file per kind of job."""
