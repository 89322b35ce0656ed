"""The built-in metrics, one per file. ``multi_agent/evaluation/metric.py`` has their protocol and discovers them."""
