"""Run a recorded run again, and find where two runs differ."""
