"""What logs tell, for people: tables and sentences, and one HTML file with the night as a picture."""
