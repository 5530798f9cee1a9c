"""What a saved audit says, checked: its numbers against each other, and against the code.

>>> Check(name="verdict", holds=None, said="nothing to compare").holds
"""

from dpaudit.verifying.verify import Check, Verification, verify
