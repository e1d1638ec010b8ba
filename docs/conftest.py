"""What the collection of doctests leaves alone: notebooks run in a kernel, hooks when the site is built."""

collect_ignore = ["hooks.py", "docstrings.py", "pictures.py", "run_notebook.py"]
collect_ignore_glob = ["notebooks/*.py"]
