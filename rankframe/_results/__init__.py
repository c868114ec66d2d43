"""Result tables and their markup, and text of the user's made safe to show."""
