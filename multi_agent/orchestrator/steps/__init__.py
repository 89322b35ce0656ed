"""The tasks, the agent kits and the time limits of the steps of a plan."""
