"""Routes of runs: questions, answers, exports and repeated runs."""
