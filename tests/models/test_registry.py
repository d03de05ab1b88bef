"""Identity and loading of models."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from pytest_audioretrieval.api import load_retriever
from pytest_audioretrieval.base.progress import Tracker
from pytest_audioretrieval.base.registered import MODELS
from pytest_audioretrieval.embedding.resources import Resources
from pytest_audioretrieval.embedding.single_model import SingleModel
from pytest_audioretrieval.errors import ModelError, PinError, SpecError
from pytest_audioretrieval.models import registry
from pytest_audioretrieval.models.registry import deciding_files, describe
from pytest_audioretrieval.models.types import ModelIdentity, is_pair_scorer
from pytest_audioretrieval.pinning import spec as specs
from pytest_audioretrieval.pinning.pins import Pin, Pins
from pytest_audioretrieval.pinning.protocol import Protocol
from pytest_audioretrieval.pinning.spec import ModelSpec, parse
from tests.versions import needs


def identity(spec: ModelSpec) -> ModelIdentity:
    return describe(spec, offline=True, allow_unpinned=False)


@needs("transformers", "5", "it writes processor_config.json")
def test_a_folder_is_its_files(copy: Path) -> None:
    found = identity(parse(str(copy)))
    names = sorted(
        ["config.json", "model.safetensors", "processor_config.json", "tokenizer.json", "tokenizer_config.json"]
    )
    lines = [f"{name}\0{hashlib.sha256((copy / name).read_bytes()).hexdigest()}\n" for name in names]
    assert found == ModelIdentity("copy", None, hashlib.sha256("".join(lines).encode()).hexdigest(), copy)


@pytest.mark.parametrize(
    ("file", "decides"),
    [
        ("model.safetensors", True),
        ("config.json", True),
        ("tokenizer.json", True),
        ("merges.txt", True),
        ("README.md", False),
        ("training.json", False),
        ("pytorch_model.bin", False),
    ],
)
def test_what_decides_a_vector_changes_the_identity(file: str, decides: bool, copy: Path) -> None:
    before = identity(parse(str(copy))).weights_sha256
    with (copy / file).open("ab") as stream:
        stream.write(b" ")
    assert (identity(parse(str(copy))).weights_sha256 != before) is decides


def test_a_file_by_another_name_is_another_model(copy: Path) -> None:
    (copy / "merges.txt").write_text("a b")
    before = identity(parse(str(copy))).weights_sha256
    (copy / "merges.txt").rename(copy / "vocab.txt")
    assert identity(parse(str(copy))).weights_sha256 != before


def test_a_folder_without_config(copy: Path) -> None:
    (copy / "config.json").unlink()
    with pytest.raises(ModelError, match=r"holds no config\.json: give a folder written by save_pretrained"):
        identity(parse(str(copy)))


def test_a_folder_with_a_pickle_only(copy: Path) -> None:
    """The pickle is not opened: unpickling it would end the test run."""
    (copy / "model.safetensors").unlink()
    (copy / "pytorch_model.bin").write_bytes(pickle.dumps(_Bomb()))
    for call in (
        lambda: identity(parse(str(copy))),
        lambda: load_retriever(str(copy), device="cpu", offline=True),
    ):
        with pytest.raises(ModelError, match=r"no \.safetensors weights: .* pickles are not opened"):
            call()


class _Bomb:
    def __reduce__(self) -> tuple[object, tuple[int]]:
        return sys.exit, (1,)


def test_a_folder_without_files_and_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"holds no config\.json"):
        deciding_files(tmp_path)
    with pytest.raises(ModelError, match=r"holds no config\.json"):
        deciding_files(tmp_path / "nowhere")


def test_a_built_in_model_is_checked_against_its_pin(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModelSpec(text="builtin/copy", kind="builtin", id="builtin/copy", path=copy)
    files = deciding_files(copy)
    monkeypatch.setattr(registry, "project_pins", lambda own: Pins({spec.id: Pin(None, dict(files))}, {}))
    assert identity(spec).folder == copy
    content = bytearray((copy / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (copy / "model.safetensors").write_bytes(content)
    with pytest.raises(PinError, match=f"PINS.json expects {files['model.safetensors']}"):
        identity(spec)
    monkeypatch.setattr(registry, "project_pins", lambda own: Pins({}, {}))
    with pytest.raises(ModelError, match="has no pin"):
        identity(spec)


def test_a_model_is_described_without_torch(tiny_clap: Path) -> None:
    script = f"""
import sys
from pytest_audioretrieval.models.registry import describe
from pytest_audioretrieval.pinning.spec import parse
describe(parse({str(tiny_clap)!r}), offline=True, allow_unpinned=False)
print([name for name in ("torch", "transformers", "huggingface_hub", "numpy", "scipy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def complete(name: str = "", *, device: str = "cpu") -> SimpleNamespace:
    return SimpleNamespace(name=name, device=device, text_limit=1, embed_audio=None, embed_text=None, count_cut=None)


def stating(weights: object) -> Callable[..., SimpleNamespace]:
    """A factory that says which weights it loads."""

    def factory(name: str = "", *, device: str = "cpu") -> SimpleNamespace:
        return complete(name, device=device)

    factory.weights_sha256 = weights  # type: ignore[attr-defined]
    return factory


def complete_alone() -> SimpleNamespace:
    return complete()


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("retrievers_of_a_user")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def made(text: str) -> object:
    return load_retriever(text, device="cpu", offline=True)


def test_a_factory(module: ModuleType) -> None:
    module.make = complete  # type: ignore[attr-defined]
    assert made("retrievers_of_a_user:make") == complete()
    assert identity(parse("retrievers_of_a_user:make")) == ModelIdentity("retrievers_of_a_user:make", None, "")


def test_weights_that_are_stated_are_known_without_loading(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        pytest.fail("the model was loaded")

    module.make, module.named = stating(lambda: "b" * 64), stating(lambda name: name * 16)  # type: ignore[attr-defined]
    monkeypatch.setattr(sys.modules[__name__], "complete", never)
    assert identity(parse("retrievers_of_a_user:make")).weights_sha256 == "b" * 64
    point = metadata.EntryPoint("good", "retrievers_of_a_user:named", MODELS)
    monkeypatch.setattr(specs, "backends", lambda: {"good": point})
    assert identity(parse("good:2023")).weights_sha256 == "2023" * 16


def test_a_factory_that_takes_offline_gets_what_the_user_said(module: ModuleType) -> None:
    told: list[bool] = []

    def make(device: str, offline: bool) -> object:
        told.append(offline)
        return complete()

    module.make = make  # type: ignore[attr-defined]
    spec = parse("retrievers_of_a_user:make")
    for offline in (True, False):
        registry.load(spec, identity(spec), device="cpu", offline=offline)
        load_retriever("retrievers_of_a_user:make", device="cpu", offline=offline)
    assert told == [True, True, False, False]


def test_a_pair_scorer_is_loaded_and_is_no_retriever(module: ModuleType) -> None:
    scorer = SimpleNamespace(score=None, prefer=None, device="cpu")
    both = SimpleNamespace(**vars(complete()), score=None, prefer=None)
    module.make, module.both = lambda device: scorer, lambda device: both  # type: ignore[attr-defined]
    spec = parse("retrievers_of_a_user:make")
    assert registry.load(spec, identity(spec), device="cpu") is scorer
    assert made("retrievers_of_a_user:both") is both
    assert [is_pair_scorer(model) for model in (scorer, both, complete())] == [True, False, False]
    with pytest.raises(SpecError) as caught:
        made("retrievers_of_a_user:make")
    assert str(caught.value) == (
        "retrievers_of_a_user:make scores one pair at a time and embeds nothing: ask in direction choice, "
        "e.g. --retrieval-suite binding -k choice"
    )


def test_a_backend(module: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module.make = complete  # type: ignore[attr-defined]
    module.Kind = SimpleNamespace(make=complete)  # type: ignore[attr-defined]
    (tmp_path / "failing_backend.py").write_text("raise RuntimeError('libcuda is too old\\nmore')\n")
    monkeypatch.syspath_prepend(tmp_path)
    values = {
        "good": "retrievers_of_a_user:make", "nested": "retrievers_of_a_user:Kind.make",
        "bad": "no_such_module_at_all:make", "failing": "failing_backend:make",
    }  # fmt: skip
    points = {name: metadata.EntryPoint(name, value, MODELS) for name, value in values.items()}
    monkeypatch.setattr(specs, "backends", lambda: points)
    assert made("good:2023") == made("nested:2023") == complete("2023")
    with pytest.raises(ModelError, match=r"'failing_backend' fails when .*: RuntimeError: libcuda is too old: install"):
        made("failing:2023")
    with pytest.raises(ModelError, match=r"backend 'bad' \(no_such_module_at_all:make\) cannot be imported: No module"):
        made("bad:2023")


def test_a_factory_is_told_where_the_pins_of_the_project_lie(module: ModuleType, tmp_path: Path) -> None:
    told: list[Path] = []

    def make(*, device: str, pins: Path) -> object:
        told.append(pins)
        return complete()

    def weights_sha256(*, pins: Path) -> str:
        told.append(pins)
        return "b" * 64

    make.weights_sha256 = weights_sha256  # type: ignore[attr-defined]
    module.make = make  # type: ignore[attr-defined]
    means = Resources(Protocol(), None, Tracker(), pins=tmp_path / "PINS.json")
    assert SingleModel(parse("retrievers_of_a_user:make"), means).model == complete()
    assert told == [means.pins] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no_such_module_at_all:make", "No module named 'no_such_module_at_all'"),
        ("retrievers_of_a_user:absent", "has no attribute 'absent'"),
        ("retrievers_of_a_user:number", "is int, expected a function that returns a model"),
        ("retrievers_of_a_user:half", "its factory returned SimpleNamespace without 'count_cut'"),
        (
            "retrievers_of_a_user:deaf",
            "factory(device=...) (got an unexpected keyword argument 'device'): let it take the device",
        ),
        ("retrievers_of_a_user:nothing", "NoneType without 'embed_audio': see Retriever or PairScorer"),
        (
            "retrievers_of_a_user:unsigned",
            "(no signature found for builtin type <class 'dict'>): let it take the device",
        ),
        ("retrievers_of_a_user:locked", "Permission denied: 'weights': mend the name, or restore the file"),
        ("retrievers_of_a_user:still", "its factory returned the class Still: return an instance"),
        ("retrievers_of_a_user:judge", "its factory returned SimpleNamespace without 'prefer': see PairScorer"),
        ("retrievers_of_a_user:leaving", "its factory ended the process (exit 3)"),
        ("retrievers_of_a_user:parting", "its weights_sha256 ended the process (exit 4)"),
        (
            "retrievers_of_a_user:typed",
            "its device is SimpleNamespace 'namespace()', expected a string, as torch writes",
        ),
        ("retrievers_of_a_user:careless", "states weights_sha256 'v2', expected a function that returns 64 hex digits"),
        ("retrievers_of_a_user:constant", "states weights_sha256 'aaaaaaaa"),
        ("retrievers_of_a_user:named", "weights_sha256() (missing a required argument: 'name'): let it take what the"),
        ("retrievers_of_a_user:lost", "No such file or directory: 'absent.pth': mend the name, or restore the file"),
    ],
)
def test_a_factory_that_makes_no_model(text: str, expected: str, module: ModuleType) -> None:
    half = complete()
    del half.count_cut
    for name, value in (
        ("number", 3),
        ("half", lambda device: half),
        ("nothing", lambda device: None),
        ("unsigned", dict),
        ("locked", stating(lambda: (_ for _ in ()).throw(PermissionError(13, "Permission denied", "weights")))),
        ("still", lambda device: type("Still", (), vars(complete()))),
        ("deaf", complete_alone),
        ("judge", lambda device: SimpleNamespace(score=None, device=device)),
        ("leaving", lambda device: sys.exit(3)),
        ("parting", stating(lambda: sys.exit(4))),
        ("typed", lambda device: SimpleNamespace(**vars(complete()) | {"device": SimpleNamespace()})),
        ("careless", stating(lambda: "v2")),
        ("constant", stating("a" * 64)),
        ("named", stating(lambda name: "b" * 64)),
        ("lost", stating(lambda: Path("absent.pth").read_bytes())),
    ):
        setattr(module, name, value)
    with pytest.raises(ModelError) as caught:
        made(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
