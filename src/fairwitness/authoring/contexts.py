"""Drafting the first texts: for every social group, neutral contexts that involve it. `fairwitness kosbi generate-contexts`."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

from fairwitness.authoring.demonstrations import choose, distinct, for_first, require_pool
from fairwitness.authoring.drafting import Ask, Drafts
from fairwitness.authoring.generate import Chain, Generated, run_chains
from fairwitness.authoring.prompts import first_prompt
from fairwitness.authoring.records import GroupSet, Row, read_groups, read_rows
from fairwitness.authoring.schema import Schema, load_schema
from fairwitness.authoring.services import GenerationConfig
from fairwitness.errors import InputError
from fairwitness.files import content_hash
from fairwitness.models.generation import Prompt
from fairwitness.options import require_config


@dataclass(frozen=True, kw_only=True)
class ContextsConfig(GenerationConfig):
    """Everything that a generation of contexts depends on."""

    demo_fpath: Path
    """Pool of demonstrations (JSON list or JSON lines)."""
    demographic_list: Path
    """Groups: a JSON object, category → list of "word, word, …"."""
    num_total_demos: int = 10
    """Demonstrations in a prompt."""
    num_in_cat_demos: int = 5
    """Of those, how many are of the same category."""
    num_in_grp_demos: int = 3
    """Of those, how many are of the same group."""
    num_generations: int = 50
    """Contexts to draft for each group."""
    output_dir: Path = Path("data/generations")
    """Folder of the results."""
    output_fname: str = "output_contexts.json"
    """File of the drafted contexts; rejected drafts go to `<name>.rejected.jsonl` beside it."""


def generate_contexts(config: ContextsConfig) -> Generated:
    """Draft contexts for every group; rows of category, group set, group and context."""
    require_config(config, ContextsConfig)
    schema = load_schema(config.schema)
    _check(config)
    groups = read_groups(config.demographic_list)
    pool = distinct(read_rows(config.demo_fpath, required=[schema.first.text]))
    if config.num_total_demos:
        require_pool(pool, config.num_total_demos, str(config.demo_fpath))
    chains = [
        Chain(
            ask=_asking(config, schema, pool, group),
            about={schema.category: group.category, schema.group_set: group.name},
            number=config.num_generations,
        )
        for group in groups
    ]

    def rows_of(drafts: list[Drafts]) -> list[Row]:
        return [row for group, done in zip(groups, drafts, strict=True) for row in _rows(schema, group, done)]

    inputs = {"demonstrations": config.demo_fpath, "groups": config.demographic_list}
    return run_chains(config, config.output_dir / config.output_fname, "generate-contexts", chains, rows_of, inputs)


def _asking(config: ContextsConfig, schema: Schema, pool: list[Row], group: GroupSet) -> Ask:
    wishes = for_first(schema, pool, group, in_category=config.num_in_cat_demos, in_group=config.num_in_grp_demos)

    def ask(place: int, retry: int) -> tuple[Prompt, Row]:
        # Seeded by what is asked, so that the prompt does not depend on what was asked before it.
        random = Random(f"{config.seed}|{group.category}|{group.name}|{place}|{retry}")
        chosen = choose(pool, wishes, config.num_total_demos, random)
        word = random.choice(group.synonyms)
        text = first_prompt(schema, config.language, chosen.rows, category=group.category, group=word)
        return make_prompt(config, text, retry, f"{place}|{retry}"), {schema.group: word}

    return ask


def make_prompt(config: GenerationConfig, text: str, retry: int, sample: str) -> Prompt:
    """A prompt with the sampling of its retry."""
    temperature, top_p = config.sampling.at(retry)
    return Prompt(
        text=text,
        temperature=temperature,
        top_p=top_p,
        max_tokens=config.max_tokens,
        repeat_penalty=config.repeat_penalty,
        sample=sample,
    )


def _rows(schema: Schema, group: GroupSet, done: Drafts) -> list[Row]:
    return [
        {
            "id": content_hash(group.name, draft.text)[:16],
            schema.category: group.category,
            schema.group_set: group.name,
            schema.group: draft.about[schema.group],
            schema.first.text: draft.text,
        }
        for draft in done.accepted
    ]


def _check(config: ContextsConfig) -> None:
    if config.num_generations < 1:
        raise InputError(f"--num_generations is {config.num_generations}; at least 1 was expected.")
    if config.num_total_demos < max(0, config.num_in_cat_demos + config.num_in_grp_demos):
        raise InputError(
            f"--num_total_demos {config.num_total_demos} is fewer than --num_in_cat_demos {config.num_in_cat_demos} and "
            f"--num_in_grp_demos {config.num_in_grp_demos} together."
        )
