"""Uncertainty, and how systems differ."""
