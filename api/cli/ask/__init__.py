"""What ``candor ask`` does: run one question, and ask the person at the terminal for approvals."""
