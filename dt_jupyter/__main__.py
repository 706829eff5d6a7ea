"""`python -m dt_jupyter LAKE …`: the engine without a notebook."""

import sys

from dt_jupyter.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
