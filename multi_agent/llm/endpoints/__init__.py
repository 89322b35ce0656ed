"""Clients of model endpoints, one per protocol, and the HTTP transport that they share."""
