"""The SQL record of every document: state, versions, collection aliases, ingest lock."""
