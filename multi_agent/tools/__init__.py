"""The tools that come with Candor, one file each; what a tool is, says ``multi_agent/tool.py``."""
