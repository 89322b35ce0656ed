"""Measurements on a real Qdrant server or cluster on this machine."""
