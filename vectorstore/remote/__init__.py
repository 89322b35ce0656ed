"""Access to a store in another process of the same user, over a Unix domain socket."""
