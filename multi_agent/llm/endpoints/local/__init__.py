"""A language model that Candor loads itself: an endpoint, its child process, and the engines that can run in it."""
