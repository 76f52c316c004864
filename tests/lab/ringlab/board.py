"""Grafana boards, as far as tests read them."""


def expressions(value):
    """Every query of a board, wherever it stands in it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "expr":
                yield inner
            else:
                yield from expressions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from expressions(inner)
