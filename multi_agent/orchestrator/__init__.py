"""From a question to a terminal state: understand and plan, validate, execute, finish."""
