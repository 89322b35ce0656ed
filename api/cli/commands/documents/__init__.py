"""Commands for collections and their documents."""
