"""The routes of the service, a file for each of its subjects; ``api/http/app.py`` puts them together."""
