"""The bridge over HTTP: REST, its description, and the page."""
