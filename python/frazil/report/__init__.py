"""Tables and plans as pages: one HTML file each, without any request to the network."""
