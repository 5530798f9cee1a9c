"""`python -m dpaudit` is `dpaudit`."""

from dpaudit.cli import program

if __name__ == "__main__":
    program()
