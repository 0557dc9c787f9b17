"""Pages of the web: which addresses may be dialled, how a page is fetched, what its text is. Start at `fetcher.py`."""
