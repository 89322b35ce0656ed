"""The metrics, a file each; ``multi_agent/evaluation/metric.py`` is their contract and finds them."""
