"""What people see: figures as text, and explanations as pictures."""
