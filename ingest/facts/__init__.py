"""Facts about a document as a whole, such as its issuer and period."""
