"""A model that loads gives the same numbers as the one that was saved; everything else is one clear sentence."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForMaskedLM, AutoModelForSequenceClassification

from fairwitness.errors import InputError, MissingExtraError, ModelError
from fairwitness.models import four_bit
from fairwitness.models.causal_lm import load
from fairwitness.models.devices import choose_device, choose_dtype
from fairwitness.models.loading import fingerprint
from fairwitness.scorers.zero_shot import ZeroShot

from .tiny_folders import byte_tokenizer, tiny_folder
from .tiny_gguf import tiny_gguf


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("tiny"))


def test_a_folder_loads_and_scores_texts(folder: Path) -> None:
    lm = load(str(folder), device="cpu")
    answer = lm.logprobs(["The capital of France is", ""], [[" Paris", " Rome"], ["x"]])
    assert [a.n_tokens for a in answer] == [(6, 5), (1,)]
    assert all(value < 0 for a in answer for value in a.logprob_sum)
    joint = lm.logprobs(["The capital of France is"], [[" Paris", " Rome"]], joint=True)
    assert joint[0].logprob_sum == pytest.approx(answer[0].logprob_sum, abs=1e-4)


def test_a_gguf_file_scores_as_the_folder_does_and_draws_no_bar(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from transformers import modeling_gguf_pytorch_utils as gguf
    from transformers.utils import logging

    path, bar, shown = tiny_gguf(tmp_path / "tiny.gguf"), gguf.tqdm, logging.is_progress_bar_enabled()
    capfd.readouterr()
    answers = [load(str(name), device="cpu", dtype="float32").logprobs(["abc"], [["de", "f"]])[0] for name in (path, folder)]
    assert answers[0].logprob_sum == pytest.approx(answers[1].logprob_sum, abs=1e-4)
    assert capfd.readouterr().err == ""
    assert gguf.tqdm is bar
    assert logging.is_progress_bar_enabled() == shown


def test_half_precision_is_close_and_sums_stay_float32(folder: Path) -> None:
    exact = load(str(folder), device="cpu", dtype="float32").logprobs(["abc"], [["de", "f"]])[0]
    half = load(str(folder), device="cpu", dtype="bfloat16").logprobs(["abc"], [["de", "f"]])[0]
    assert half.logprob_sum == pytest.approx(exact.logprob_sum, rel=0.05, abs=0.3)


def test_prefixes_and_continuations_must_match(folder: Path) -> None:
    with pytest.raises(InputError, match="2 prefixes were given with 1"):
        load(str(folder), device="cpu").logprobs(["a", "b"], [["c"]])


def test_the_fingerprint_sees_other_weights(folder: Path, tmp_path: Path) -> None:
    assert fingerprint(str(folder)) == fingerprint(str(folder))
    assert fingerprint(str(folder)) != fingerprint(str(tiny_folder(tmp_path / "other", "gpt2")))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/nowhere/at/all", "does not exist"),
        ("./missing.gguf", "GGUF file ./missing.gguf does not exist"),
        ("smollm", "Did you mean 'smollm2'"),
    ],
)
def test_names_that_lead_nowhere(name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=words):
        load(name, device="cpu")


def test_folders_that_are_no_models(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no config\.json"):
        load(str(tmp_path), device="cpu")
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    with pytest.raises(ModelError, match="no weights"):
        load(str(tmp_path), device="cpu")
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load(str(tmp_path), device="cpu")
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError):
        load(str(tmp_path), device="cpu")


def test_an_encoder_is_refused_with_the_command_that_takes_it(tmp_path: Path) -> None:
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 259}
    AutoModelForMaskedLM.from_config(AutoConfig.for_model("bert", **small)).save_pretrained(tmp_path)
    byte_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"BertForMaskedLM, not a causal.*stereoset eval"):
        load(str(tmp_path), device="cpu")


def test_a_classifier_is_refused_because_its_head_would_be_random(tmp_path: Path) -> None:
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 259}
    AutoModelForSequenceClassification.from_config(AutoConfig.for_model("llama", **small)).save_pretrained(tmp_path)
    byte_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"LlamaForSequenceClassification, not a causal.*--scorer hf:"):
        load(str(tmp_path), device="cpu")
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps(config | {"architectures": ["LlamaForCausalLM"]}), encoding="utf-8")
    with pytest.raises(ModelError, match="random numbers"):
        load(str(tmp_path), device="cpu")


def test_damaged_files_are_named(tmp_path: Path) -> None:
    whole = tiny_gguf(tmp_path / "t.gguf").read_bytes()
    for length in (20, 1000, 3000):
        (tmp_path / "cut.gguf").write_bytes(whole[:length])
        with pytest.raises(ModelError, match="cannot be loaded"):
            load(str(tmp_path / "cut.gguf"), device="cpu")
    folder = tiny_folder(tmp_path / "model")
    (folder / "tokenizer_config.json").write_text("{broken", encoding="utf-8")
    with pytest.raises(ModelError, match=r"The tokenizer_config\.json of"):
        load(str(folder), device="cpu")
    (tmp_path / "texts.csv").write_text("text\na\n", encoding="utf-8")
    with pytest.raises(ModelError, match="is a file"):
        load(str(tmp_path / "texts.csv"), device="cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_needs_a_gpu_says_so(folder: Path) -> None:
    with pytest.raises(ModelError, match="no CUDA device"):
        load(str(folder), device="cuda")
    with pytest.raises(ModelError, match="--quantize needs an NVIDIA GPU"):
        load(str(folder), device="cpu", quantize=True)


def test_a_gguf_file_is_not_packed_again(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"own number format\. Leave out --quantize"):
        load(str(tiny_gguf(tmp_path / "t.gguf")), device="cpu", quantize=True)


def test_weights_that_lie_there_packed_need_a_gpu_too(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    assert ZeroShot(model=str(folder), device="cpu").identity["quantized"] is False
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert ZeroShot(model=str(folder), device="cpu").identity["quantized"] is True
    with pytest.raises(
        ModelError, match=r"packed by bitsandbytes needs an NVIDIA GPU \(CUDA\), and this is cpu\. Give the model it was made"
    ):
        load(str(folder), device="cpu")


def test_four_bits_name_the_extra_that_brings_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(four_bit, "find_spec", lambda package: None)
    with pytest.raises(MissingExtraError, match=r"fairwitness\[quantize\]"):
        four_bit.arguments(torch.device("cuda"), "bfloat16")


def test_devices_and_dtypes() -> None:
    cpu = choose_device("cpu")
    assert choose_dtype("float16", cpu) == "float16"
    assert choose_dtype("auto", cpu) in ("float32", "bfloat16")
    with pytest.raises(InputError, match="Unknown device"):
        choose_device("tpu9000")
    with pytest.raises(InputError, match="Unknown --dtype"):
        choose_dtype("int3", cpu)
