"""Messages between kernel and page, and requests; TypeScript is generated from here."""
