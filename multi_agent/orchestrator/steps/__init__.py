"""What a step of a plan gets: its tasks, the parts of its agent, and its time limit."""
