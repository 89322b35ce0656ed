"""From files to a searchable collection: plan, parse, chunk, embed, store."""
