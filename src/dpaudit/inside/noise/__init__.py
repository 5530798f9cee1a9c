"""Noise that is followed: numbers with noise, their laws, and the likelihood of what was shown."""
