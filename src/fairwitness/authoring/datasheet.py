"""A dataset's description: Croissant (JSON-LD) with the responsible-AI fields, and the same for people as Markdown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness.authoring.agreement import Agreement
from fairwitness.authoring.schema import Schema
from fairwitness.files import file_hash, write_text

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a datasheet says besides the rows."""

    name: str
    schema: Schema
    iteration: int
    counts: Sequence[Mapping[str, Any]]
    agreement: dict[str, Agreement]
    generator: Mapping[str, Any]
    ledger: Mapping[str, Any]
    annotators: int
    annotators_per_item: int
    filter_model: str
    license: str
    version: str = "1.0.0"
    published: str = ""
    measurements: pl.DataFrame = field(default_factory=pl.DataFrame)


def write_datasheet(folder: Path, files: Mapping[str, Path], facts: Facts) -> list[Path]:
    """Write `croissant.json` and `DATASHEET.md` beside the dataset."""
    croissant, sheet = folder / "croissant.json", folder / "DATASHEET.md"
    write_text(croissant, json.dumps(_croissant(files, facts), ensure_ascii=False, indent=2) + "\n")
    write_text(sheet, _markdown(files, facts))
    return [croissant, sheet]


def _croissant(files: Mapping[str, Path], facts: Facts) -> dict[str, Any]:
    schema = facts.schema
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": facts.name,
        "description": f"{schema.title}; authored with Fair Witness, iteration {facts.iteration}. {schema.warning['en']}",
        "license": facts.license,
        "version": facts.version,
        **({"datePublished": facts.published} if facts.published else {}),
        "distribution": [_file(part, path) for part, path in files.items()],
        "recordSet": [_record_set(part, schema) for part in files],
        **_responsible(facts),
    }


def _responsible(facts: Facts) -> dict[str, Any]:
    model = facts.generator.get("model") or facts.generator.get("service") or "unknown"
    return {
        "rai:dataCollection": f"Texts were drafted by the language model {model}, selected by a filter model "
        f"({facts.filter_model}), and labelled by people.",
        "rai:dataCollectionType": ["Machine generated", "Manual Human Curator"],
        "rai:dataCollectionRawData": "Rejected drafts are kept with their reason beside the dataset.",
        "rai:dataAnnotationProtocol": "Labels by majority; no majority is adjudicated by a lead or stays undecided; "
        "sub-labels without a majority are 'undefined'.",
        "rai:dataAnnotationPlatform": ["Fair Witness annotation page"],
        "rai:annotationsPerItem": str(facts.annotators_per_item),
        "rai:dataAnnotationAnalysis": [_agreement_line(kind, measured) for kind, measured in facts.agreement.items()],
        "rai:annotatorDemographics": f"{facts.annotators} annotators; demographics were not recorded.",
        "rai:machineAnnotationTools": [facts.filter_model],
        "rai:dataUseCases": "Training and testing of models that detect social bias. Not for teaching a model to write such texts.",
        "rai:dataBiases": "Drafts carry the biases of the model that wrote them; the selection favours texts that the filter model "
        "finds ambiguous, so label shares say nothing about the world.",
        "rai:personalSensitiveInformation": ["The texts name social groups; they are not about identifiable people."],
        "rai:dataLimitations": "Small where a group has few rows: see the counts per group.",
        "rai:dataSocialImpact": facts.schema.warning["en"],
    }


def _file(part: str, path: Path) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": part,
        "name": path.name,
        "contentUrl": path.name,
        "encodingFormat": "application/json",
        "sha256": file_hash(path),
    }


def _record_set(part: str, schema: Schema) -> dict[str, Any]:
    kind = schema.second
    names = [name for name in kind.carry if name != schema.group_set] + [kind.text, kind.label, kind.sub_label]
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{part}_rows/{name}",
            "name": name,
            "dataType": "sc:Text",
            **({"repeated": True} if name == kind.sub_label and kind.several else {}),
            "source": {"fileObject": {"@id": part}, "extract": {"jsonPath": f"$[*]['{name}']"}},
        }
        for name in dict.fromkeys(names)
    ]
    return {"@type": "cr:RecordSet", "@id": f"{part}_rows", "name": f"{part}_rows", "field": fields}


def _markdown(files: Mapping[str, Path], facts: Facts) -> str:
    table = pl.DataFrame(list(facts.counts))
    lines = [
        f"# {facts.name}",
        "",
        facts.schema.title + f", iteration {facts.iteration}.",
        "",
        f"> {facts.schema.warning['en']}",
        "",
    ]
    lines += [
        "## Files",
        "",
        *_table(["part", "file", "rows"], [[part, path.name, _n(table, part)] for part, path in files.items()]),
        "",
    ]
    labels = sorted(table["label"].unique().to_list()) if table.height else []
    lines += ["## Rows per group and label", "", *_group_table(table, labels), ""]
    lines += ["## Agreement", "", *_agreement_table(facts.agreement), ""]
    lines += ["## How it was made", "", f"- Drafted by: `{json.dumps(dict(facts.generator), ensure_ascii=False)}`"]
    lines += [f"- Asked and spent: {_ledger(facts.ledger)}", f"- Filter model: {facts.filter_model}"]
    lines += [
        f"- {facts.annotators} annotators, {facts.annotators_per_item} per text; labels by majority, conflicts adjudicated.",
        "",
    ]
    if facts.measurements.height:
        rows = [[row["metric"], row["group"] or "all", _f(row["value"]), f"{_f(row['low'])} to {_f(row['high'])}", str(row["n"])]
                for row in facts.measurements.to_dicts()]  # fmt: skip
        lines += [
            "## The filter model on the test part",
            "",
            *_table(["metric", "category", "value", "95 % interval", "n"], rows),
            "",
        ]
    return "\n".join(lines)


def _group_table(table: pl.DataFrame, labels: list[str]) -> list[str]:
    if not table.height:
        return ["No rows."]
    rows = []
    for (category, group), part in table.group_by(["category", "group"], maintain_order=True):
        counts = {label: int(part.filter(pl.col("label") == label)["n"].sum()) for label in labels}
        rows.append([str(category), str(group), *(str(counts[label]) for label in labels), str(sum(counts.values()))])
    return _table(["category", "group", *labels, "all"], sorted(rows))


def _agreement_table(agreement: Mapping[str, Agreement]) -> list[str]:
    rows = [
        [kind, row["question"], row["category"] or "all", _f(row["value"]), str(row["n"])]
        for kind, measured in agreement.items()
        for row in measured.alpha.to_dicts()
    ]
    return _table(["texts", "question", "category", "Krippendorff's α", "n"], rows) if rows else ["Nobody's agreement was seen."]


def _agreement_line(kind: str, measured: Agreement) -> str:
    overall = measured.alpha.filter(pl.col("category") == "").to_dicts()
    return f"{kind}: " + ", ".join(
        f"Krippendorff's alpha of {row['question']} {_f(row['value'])} (n = {row['n']})" for row in overall
    )


def _ledger(ledger: Mapping[str, Any]) -> str:
    """What the drafts took, whenever it was paid: a run that was killed and resumed says the same as one that was not."""
    if not ledger:
        return "not recorded"
    total = {name: ledger.get(name, 0) + ledger.get(f"{name}_before", 0) for name in ("tokens", "cost")}
    answers, failed = ledger.get("answered", 0) + ledger.get("cached", 0), ledger.get("failed", 0)
    return f"answers {answers:,}, failed {failed:,}, tokens {total['tokens']:,}, cost {total['cost']:,.4f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(map(_cell, row))} |" for row in rows)]


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|")


def _n(table: pl.DataFrame, part: str) -> str:
    return str(int(table.filter(pl.col("part") == part)["n"].sum())) if table.height else "0"


def _f(value: float | None) -> str:
    return "undefined" if value is None or value != value else f"{value:.3f}"
