"""Views for people: tables in the terminal."""
