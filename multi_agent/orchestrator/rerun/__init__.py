"""Replays of recorded runs, forks, and the first difference of two runs."""
