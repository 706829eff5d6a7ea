"""One refresh: resolve versions, choose an action, run, apply, commit, record; and its checks."""
