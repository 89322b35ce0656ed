"""Research and evaluations for the service: in its own process, or in a child process."""
