"""The nouns of Ensign: messages, events, records, errors. Values without logic, importing nothing of ours."""
