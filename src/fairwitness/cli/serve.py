"""`fairwitness serve`: browse a folder of runs."""

from pathlib import Path


def serve(runs: Path, /, *, host: str = "127.0.0.1", port: int = 8700, token: str | None = None) -> None:
    """Browse the reports and rows of a folder of runs. Reads only; localhost unless told otherwise.

    Parameters
    ----------
    runs
        A folder with runs below it.
    host
        Where to listen. Anything but localhost needs a token.
    port
        The port to listen on.
    token
        What a browser must show once, in the address.
    """
    from fairwitness.errors import InputError, MissingExtraError
    from fairwitness.progress import say

    if not runs.is_dir():
        raise InputError(f"{runs} is not a folder.")
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("starlette", "web", "The viewer") from error
    from fairwitness.web.guard import choose_token, quoted, require_port
    from fairwitness.web.viewer import serve as listen

    token = choose_token(host, token)
    require_port(host, port)
    say(f"Open http://{host}:{port}/{f'?token={quoted(token)}' if token else ''}  (Ctrl+C ends it)")
    listen(runs, host=host, port=port, token=token)
