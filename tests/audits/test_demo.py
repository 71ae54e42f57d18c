"""The demo: what a call that was cut off left half made is made again."""

from pathlib import Path

import pytest

from fairwitness.audits import demo, user_model


def test_a_graph_that_was_half_written_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(user_model, "user_model", lambda config: seen.append(sorted(p.name for p in config.data_dir.iterdir())))
    made = tmp_path / "made_up_shop"
    made.mkdir()
    (made / "user_labels.csv").write_text("user_id,gender\n0,1\n", encoding="utf-8")
    for _ in range(2):
        demo._user_model(demo.DemoConfig(out=tmp_path))
    written = (made / "G.npz").stat().st_mtime_ns
    demo._user_model(demo.DemoConfig(out=tmp_path))
    assert {"G.npz", "run.json", "user_edge.csv"} <= set(seen[0])
    assert (made / "G.npz").stat().st_mtime_ns == written  # and once is enough
