"""`python -m chacha` is the `chacha` program."""

from chacha.cli import main

if __name__ == "__main__":
    main()
