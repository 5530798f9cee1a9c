"""Experts that guess which side an output came from; they learn from the past alone."""
