"""Archives and messages: list their members and unpack them within limits."""
