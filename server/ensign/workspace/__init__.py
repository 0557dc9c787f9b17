"""What is in the editor and on disk: open documents, file versions and who wrote them, edits, processes."""
