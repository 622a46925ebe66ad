"""`python -m bridge`, the same as the command `transom`."""

from bridge.cli import main

if __name__ == "__main__":
    main()
