"""Messages between kernel and page, and what answers them; TypeScript is generated from here."""
