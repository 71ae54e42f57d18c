"""The command line: the seed's eight example commands, translated, run; bad input ends in one line and exit code 2."""

import os
from pathlib import Path

import pytest
from tests.graphs.toy import write_toy

from fairwitness.cli.app import call, main

torch = pytest.importorskip("torch")
SHARED = os.environ.get("FAIRWITNESS_SHARED")
CAT = (
    "--gpu 0 --weight-decay 1e-5 --graph-refining agc --aggr-pooling mean --grn-units 64 --bi-interaction nfm --nfm-units none "
    "--graph-layer pna --gnn-hops 1 --aggr-style sum"
)
EIGHT = {
    "catgcn alibaba": f"--model catgcn --seed 11 --learning-rate 0.1 {CAT} --dropout 0.1 --diag-probe 1 --gnn-units none "
    "--balance-ratio 0.7 --sens-attr age --label buy",
    "catgcn jd": f"--model catgcn --seed 11 --learning-rate 1e-2 {CAT} --dropout 0.1 --diag-probe 39 --gnn-units none "
    "--balance-ratio 0.7 --sens-attr bin_age --label expense",
    "catgcn pokec": f"--model catgcn --seed 11 --learning-rate 1e-3 {CAT} --dropout 0.7 --diag-probe 1 --gnn-units none "
    "--balance-ratio 0.1 --sens-attr bin_age --label work_field",
    "catgcn nba": f"--model catgcn --seed 3 --learning-rate 0.1 {CAT} --dropout 0.9 --diag-probe 39 --gnn-units 64 "
    "--balance-ratio 0.7 --sens-attr bin_age --label bin_salary",
    "rhgn alibaba": "--seed 42 --gpu 0 --model RHGN --graph G --max_lr 0.1 --n_hid 32 --clip 2 --n_epoch 100 --label bin_buy "
    "--sens_attr bin_age",
    "rhgn jd": "--seed 3 --gpu 0 --model RHGN --graph G --max_lr 1e-3 --n_hid 64 --clip 1 --n_epoch 100 --label bin_exp "
    "--sens_attr bin_age",
    "rhgn pokec": "--seed 11 --gpu 0 --model RHGN --graph G --max_lr 1e-3 --n_hid 64 --clip 2 --n_epoch 100 --label bin_work_field "
    "--sens_attr age",
    "rhgn nba": "--seed 11 --gpu 0 --model RHGN --graph G --max_lr 0.1 --n_hid 32 --clip 1 --n_epoch 100 --label salary "
    "--sens_attr age",
}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def data_of(dataset: str, tmp_path: Path) -> Path:
    if dataset in ("alibaba", "jd"):
        call(["usermodel", "generate", "--dataset", dataset, "--scale", "0.003", "--out", str(tmp_path / "data")])
        return tmp_path / "data"
    if not SHARED:
        pytest.skip("needs FAIRWITNESS_SHARED")
    return Path(SHARED) / "data" / "user_graphs" / dataset


@pytest.mark.shared
@pytest.mark.parametrize("name", EIGHT)
def test_the_seeds_example_commands_run(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in the seed but for the folder, and cut after two epochs, so that all eight take seconds."""
    dataset = name.split()[1]
    words = EIGHT[name].split()
    words = words[: words.index("--n_epoch")] + words[words.index("--n_epoch") + 2 :] if "--n_epoch" in words else words
    place = ["--dataset", dataset, "--data_dir", str(data_of(dataset, tmp_path)), "--out", str(tmp_path / "run")]
    call(["usermodel", "train", *words, *place, "--epochs", "2"])
    assert "accuracy" in capsys.readouterr().out
    for file in ("preds.parquet", "fairness.multigroup.csv", "performance.csv", "model.pt"):
        assert (tmp_path / "run" / file).exists()


def words_for(tmp_path: Path) -> list[str]:
    write_toy(tmp_path / "toy")
    place = ["--data-dir", str(tmp_path / "toy"), "--out", str(tmp_path / "run")]
    return ["usermodel", "train", "--model", "catgcn", "--dataset", "nba", "--epochs", "2", "--label", "salary", *place]


def test_seeds_with_spaces_or_commas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call([*words_for(tmp_path), "--seeds", "3", "11", "--json"])
    call([*words_for(tmp_path), "--seeds", "3,11"])
    assert "Over seeds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("extra", "word"),
    [
        (["--graph-layer", "pnaa"], "pna, none, sgc"),
        (["--label", "wage"], "Column 'wage'"),
        (["--train-ratio", "0.999"], "empty"),
        (["--learning-rate", "o.1"], "o.1"),
        (["--learning-rate", "0"], "learning rate is 0"),
        (["--field-path", "nowhere.npy"], "does not exist"),
    ],
)
def test_bad_input_exits_2_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], extra: list[str], word: str) -> None:
    words = words_for(tmp_path)
    if "--label" in extra:
        words[words.index("--label") + 1] = extra[1]
        extra = []
    with pytest.raises(SystemExit) as ended:
        main([*words, *extra])
    assert ended.value.code == 2
    said = capsys.readouterr().err.strip()
    assert word in said
    assert "\n" not in said


def test_an_edge_to_nobody_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = words_for(tmp_path)
    with (tmp_path / "toy" / "edges.csv").open("a") as file:
        file.write("3,4711\n")
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "4711" in capsys.readouterr().err
    call([*words, "--edge-faults", "drop"])
    assert (tmp_path / "run" / "preds.parquet").exists()


def test_the_rest_of_the_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call([*words_for(tmp_path), "--seed", "3", "--sens-attr", "age"])
    call(["usermodel", "compare-views", "--run", str(tmp_path / "run"), "--min-group-size", "1"])
    assert "binary × binary groups" in capsys.readouterr().out.replace("\n", " ") or (tmp_path / "run" / "views.csv").exists()
    call(
        [
            *[w if w != "train" else "curve" for w in words_for(tmp_path)][:-1],
            str(tmp_path / "curve"),
            "--seed",
            "3",
            "--strengths",
            "0",
            "1",
        ]
    )
    assert (tmp_path / "curve" / "curve.csv").exists()
