"""`python -m foldwise.app.cli`, where the program is not on the path."""

from foldwise.app.cli import main

if __name__ == "__main__":
    main()
