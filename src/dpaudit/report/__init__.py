"""Every word a user reads about a verdict."""
