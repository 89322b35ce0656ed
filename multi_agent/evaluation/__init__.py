"""How good are the answers? Question sets, metrics, statistics, and where a wrong answer went wrong."""
