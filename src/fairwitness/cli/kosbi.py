"""`fairwitness kosbi …`: the authoring loop, a verb per stage. Parses, calls the library, prints."""

import json as json_
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from fairwitness.authoring.annotating import AnnotateConfig, prepare
from fairwitness.authoring.augmentation import AugmentContextsConfig, AugmentSentencesConfig
from fairwitness.authoring.augmentation import augment_contexts as _augment_contexts
from fairwitness.authoring.augmentation import augment_sentences as _augment_sentences
from fairwitness.authoring.contexts import ContextsConfig
from fairwitness.authoring.contexts import generate_contexts as _generate_contexts
from fairwitness.authoring.filter_training import TrainFilterConfig
from fairwitness.authoring.filter_training import train_filter as _train_filter
from fairwitness.authoring.filtering import FilterContextsConfig, FilterSentencesConfig
from fairwitness.authoring.filtering import filter_contexts as _filter_contexts
from fairwitness.authoring.filtering import filter_sentences as _filter_sentences
from fairwitness.authoring.generate import Generated
from fairwitness.authoring.loop import run_loop
from fairwitness.authoring.loop_config import read_loop
from fairwitness.authoring.sentences import SentencesConfig
from fairwitness.authoring.sentences import generate_sentences as _generate_sentences
from fairwitness.errors import MissingExtraError
from fairwitness.progress import say


def generate_contexts(config: Annotated[ContextsConfig, Parameter(name="*")], json: bool = False) -> int:
    """Draft neutral contexts for every social group with any text-generation service.

    Parameters
    ----------
    json
        Print the counts as JSON on stdout.
    """
    return _generated(_generate_contexts(config), json)


def generate_sentences(config: Annotated[SentencesConfig, Parameter(name="*")], json: bool = False) -> int:
    """Draft safe and unsafe sentences after every annotated context.

    Parameters
    ----------
    json
        Print the counts as JSON on stdout.
    """
    return _generated(_generate_sentences(config), json)


def filter_contexts(config: Annotated[FilterContextsConfig, Parameter(name="*")], json: bool = False) -> None:
    """Remove contexts that do not include their group.

    Parameters
    ----------
    json
        Print the counts as JSON on stdout.
    """
    done = _filter_contexts(config)
    _print({"kept": len(done.rows), "rejected": len(done.rejected), "file": done.file}, json)


def filter_sentences(config: Annotated[FilterSentencesConfig, Parameter(name="*")], json: bool = False) -> None:
    """Keep the sentences on which the filter model's checkpoints disagree most.

    Parameters
    ----------
    json
        Print the counts as JSON on stdout.
    """
    done = _filter_sentences(config)
    _print({"kept": len(done.rows), "rejected": len(done.rejected), "file": done.file}, json)


def train_filter(config: Annotated[TrainFilterConfig, Parameter(name="*")], json: bool = False) -> None:
    """Train a filter model, keep a checkpoint per epoch, and measure the best one per category.

    Parameters
    ----------
    json
        Print losses and measurements as JSON on stdout.
    """
    trained = _train_filter(config)
    rows = trained.measurements.to_dicts()
    if json:
        print(json_.dumps({"folder": str(trained.folder), "epochs": trained.history, "test": rows}, ensure_ascii=False))
        return
    for row in rows:
        value, low, high = ("–" if row[name] is None else f"{row[name]:.4f}" for name in ("value", "low", "high"))
        print(f"{row['metric']:<9} {value:<6}  [{low}, {high}]  n={row['n']:<6} {row['group'] or 'all'}")
    print(f"Checkpoints in {trained.folder}")


def augment_contexts(config: Annotated[AugmentContextsConfig, Parameter(name="*")], json: bool = False) -> None:
    """Make the next pool of context demonstrations out of annotated contexts.

    Parameters
    ----------
    json
        Print the counts as JSON on stdout.
    """
    pool = _augment_contexts(config)
    _print({"demonstrations": len(pool), "file": config.output_dir / config.output_demo_fname}, json)


def augment_sentences(config: Annotated[AugmentSentencesConfig, Parameter(name="*")], json: bool = False) -> None:
    """Make the next pool of sentence demonstrations: unanimously labelled, most ambiguous.

    Parameters
    ----------
    json
        Print the counts as JSON on stdout.
    """
    pool = _augment_sentences(config)
    _print({"demonstrations": len(pool), "file": config.output_dir / config.output_demo_fname}, json)


def annotate(config: Annotated[AnnotateConfig, Parameter(name="*")]) -> None:
    """Serve the annotation page, import annotations, or export them."""
    if not config.no_serve and config.export_fname is None:
        _require_page(config)
    prepared = prepare(config)
    for note in prepared.notes:
        say(note)
    base = f"http://{config.host}:{config.port}"
    for name, token in prepared.tokens.items():
        # The one place where a token is ever shown.
        print(f"{name}: {base}/enter?token={token}", flush=True)
    if not prepared.serve:
        return
    from fairwitness.web.annotate import serve

    say(f"Listening on {base}  (Ctrl+C ends it; nothing is lost)")
    serve(prepared.store, host=config.host, port=config.port)


def _require_page(config: AnnotateConfig) -> None:
    """Refuse what could not be served before a store is filled and tokens are handed out."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("starlette", "web", "The annotation page") from error
    from fairwitness.web.guard import require_port

    require_port(config.host, config.port)


def run(config: Path, /, *, json: bool = False) -> None:
    """One iteration of the whole loop from a TOML file, ending in a split dataset, its datasheet and an audit.

    Parameters
    ----------
    config
        The TOML file.
    json
        Print what was done as JSON on stdout.
    """
    loop = run_loop(read_loop(config), audit=_audit)
    _print({"stages": loop.done, "folder": loop.folder}, json)


def _audit(predictions: Path, out: Path) -> None:
    from fairwitness.audits.fairness import FairnessConfig, audit_fairness

    audit_fairness(FairnessConfig(preds=predictions, label_col="label", group_cols=("category", "group"), out=out))


def _generated(made: Generated, json: bool) -> int:
    """Exit code 3 where some drafts failed: the same command fills them in."""
    _print({**made.counts, "file": made.file, "rejected_file": made.rejected_file, "ledger": made.ledger}, json)
    return 3 if made.counts["failed"] else 0


def _print(facts: dict[str, Any], json: bool) -> None:
    if json:
        print(json_.dumps(facts, ensure_ascii=False, default=str))
        return
    for name, value in facts.items():
        print(f"{name}: {value}")
