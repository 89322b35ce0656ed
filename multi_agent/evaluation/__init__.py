"""Evaluation of answers: question sets, metrics, statistics and failure analysis."""
