"""The web application: routes, middleware, errors and event streams."""
