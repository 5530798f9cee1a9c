"""`python -m dpaudit` is `dpaudit`."""

from dpaudit.cli import main

if __name__ == "__main__":
    main(prog_name="dpaudit")
