"""Rendering in the terminal, one file per subject. Text of documents and models is printed as is, never as markup."""
