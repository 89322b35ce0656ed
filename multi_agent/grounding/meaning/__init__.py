"""What the rules know about words: negations, opposites, figures with units, and how two sentences differ."""
