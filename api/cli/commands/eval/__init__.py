"""Ask a set of questions and measure the answers."""
