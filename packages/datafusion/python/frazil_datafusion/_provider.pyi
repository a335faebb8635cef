from typing import Any, Final

DATAFUSION: Final[int]

def table_provider(source: Any, session: Any) -> object: ...
