"""Tags that are made by themselves, as options of Paimon's tables ask for them.

- `periods`: the periods of such tags, and their names
- `automatic`: makes the tags that are due, and removes those that are not kept any longer
"""
