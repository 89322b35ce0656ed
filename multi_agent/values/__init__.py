"""The values of a run: request, plan, context, events, answer, and the messages between its parts."""
