"""Bets against a claim: payoffs whose mean is at most 1 if the claim holds, whatever the guess."""
