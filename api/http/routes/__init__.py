"""The routes, one file for each resource. ``api/http/app.py`` includes the ``router`` of every module here."""
