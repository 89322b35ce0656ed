"""From the text of a response to a typed value: schemas, repairs, retries."""
