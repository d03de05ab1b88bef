"""Worker that runs laion_clap in an environment of its own, as it needs numpy < 2 (fault 82); see ``models.laion``.

The package is used as its users use it, with three exceptions. A checkpoint is read by torch's reader of tensors and
numbers, never unpickled (fault 73). ``position_ids`` may be absent (fault 72). RoBERTa's weights are not fetched from
the hub, since the checkpoint has its own. Nothing here uses the network.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING or __package__:
    from pytest_audioretrieval.models.worker.worker_frames import Arrays
    from pytest_audioretrieval.models.worker.worker_loop import one_line, serve
else:
    from worker_frames import Arrays
    from worker_loop import one_line, serve

#: Packages that may change a vector.
LIBRARIES = (
    "laion_clap", "numpy", "tokenizers", "torch", "torchaudio", "torchlibrosa", "torchvision", "transformers",
)  # fmt: skip
#: Repositories whose tokenizers laion_clap loads when it is imported (fault 80); it reads texts by the first.
REPOSITORIES = ("roberta-base", "bert-base-uncased", "facebook/bart-base")
TOKENIZER_FILES = (
    "added_tokens.json", "merges.txt", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json",
    "vocab.json", "vocab.txt",
)  # fmt: skip
#: Sets of files, each of which is enough for a tokenizer.
VOCABULARIES = ({"tokenizer.json"}, {"vocab.json", "merges.txt"}, {"vocab.txt"})
#: Most tokens of a text that laion_clap reads (fault 45), and number of special ones among them.
TEXT_LIMIT, SPECIAL = 77, 2
#: laion_clap's name of the audio encoder, by the channels behind its first layer.
ENCODERS = {96: "HTSAT-tiny", 128: "HTSAT-base", 256: "HTSAT-large"}
FIRST_LAYER = "audio_branch.patch_embed.proj.weight"
FUSION = "audio_branch.patch_embed.fusion_model."
TEXT, POSITION_IDS = "text_branch.", "text_branch.embeddings.position_ids"

State = dict[str, Any]
Answer = tuple[Mapping[str, Any], Sequence[Any]]


def hello() -> Mapping[str, Any]:
    """Return the parts that decide a vector besides the checkpoint: versions, and the tokenizer's digests."""
    files = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in _cached(REPOSITORIES[0]).items()}
    return {"versions": {name: _version(name) for name in LIBRARIES}, "tokenizer": files}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cached(repository: str) -> dict[str, Path]:
    from huggingface_hub import try_to_load_from_cache

    found = {name: try_to_load_from_cache(repository, name) for name in TOKENIZER_FILES}
    return {name: Path(path) for name, path in found.items() if isinstance(path, str)}


class Laion:
    """Operations of the worker: ``load`` once, then ``audio``, ``text`` and ``count``."""

    def __init__(self) -> None:
        self._module: Any = None

    def load(self, _: Arrays, *, path: str, device: str) -> Answer:
        """Load a checkpoint; its tensors tell which model it is."""
        import torch

        if device == "auto":
            device = "cuda:0" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.deterministic = True
        state = read_state(path)
        self._module = build(state, path, device)
        self._module.eval()
        return {
            "device": device, "fused": _fused(state), "text_limit": TEXT_LIMIT, "special": SPECIAL,
        }, ()  # fmt: skip

    def audio(self, windows: Arrays, *, seed: int) -> Answer:
        """Embed mono windows at 48 kHz; asked for tensors, the package does not quantise by itself (fault 31)."""
        import torch

        for draw in (random.seed, np.random.seed, torch.manual_seed):
            draw(seed)
        with torch.inference_mode():
            made = self._module.get_audio_embedding_from_data([torch.from_numpy(w) for w in windows], use_tensor=True)
        return {}, [made.float().cpu().numpy()]

    def text(self, _: Arrays, *, texts: list[str], limit: int) -> Answer:
        """Embed texts, each cut at ``limit`` tokens, 77 at most as in the package."""
        import torch

        def tokens(batch: list[str]) -> Any:
            return self._module.tokenize(
                batch, padding="max_length", truncation=True, max_length=min(limit, TEXT_LIMIT), return_tensors="pt"
            )

        with torch.inference_mode():
            made = self._module.get_text_embedding(texts, tokenizer=tokens, use_tensor=True)
        return {}, [made.float().cpu().numpy()]

    def count(self, _: Arrays, *, texts: list[str], limit: int) -> Answer:
        """Count the texts with more than ``limit`` tokens."""
        found = self._module.tokenize(texts, truncation=False, verbose=False)["input_ids"]
        return {"count": sum(len(ids) > limit for ids in found)}, ()


def read_state(path: str) -> State:
    """Read a checkpoint's tensors by name, without running any code of it."""
    import torch

    try:
        with torch.serialization.safe_globals(_numpy_scalars()):
            found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        named = re.search(r"GLOBAL ([\w.]+)", str(error))
        why = f"it names {named[1]}" if named else one_line(error)
        raise ValueError(
            f"{path} is not read: {why}, expected tensors and numbers alone, as nothing else is unpickled: "
            "save its state_dict anew with torch.save"
        ) from None
    state = found.get("state_dict", found) if isinstance(found, dict) else found
    if not isinstance(state, dict) or not state or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ValueError(f"{path} holds no state_dict, expected tensors by name: save model.state_dict()")
    return {name.removeprefix("module."): tensor for name, tensor in state.items()}


def _numpy_scalars() -> list[Any]:
    """Return the classes of numbers as numpy pickles them; laion's checkpoints hold some (fault 73)."""
    scalar: Any = np.float64(0).__reduce__()[0]
    names = [f"numpy.{core}.multiarray.scalar" for core in ("core", "_core")]  # numpy 1 and 2
    kinds = {type(np.dtype(kind)) for kind in (np.float32, np.float64, np.int32, np.int64, np.bool_)}
    return [np.dtype, *kinds, *((scalar, name) for name in names)]


def build(state: State, path: str, device: str) -> Any:
    """Build the package's model with exactly these tensors."""
    first = state.get(FIRST_LAYER)
    name = ENCODERS.get(first.shape[0]) if first is not None else None
    if name is None:
        found = "no " + FIRST_LAYER if first is None else f"{first.shape[0]} channels in it"
        raise ValueError(f"{path} is no CLAP with HTSAT: {found}, expected 96, 128 or 256 channels")
    imported = _imported()
    with _untrained_roberta(state, path):
        module = imported.CLAP_Module(enable_fusion=_fused(state), device=device, amodel=name)
    there = module.model.state_dict()
    if POSITION_IDS not in there:
        state.pop(POSITION_IDS, None)
    for what, names in (("lacks", there.keys() - state.keys()), ("has unknown", state.keys() - there.keys())):
        if names:
            raise ValueError(f"{path} {what} {len(names)} tensors, first {min(names)}: it is no checkpoint of {name}")
    module.model.load_state_dict(state)
    return module


def _fused(state: State) -> bool:
    return any(name.startswith(FUSION) for name in state)


def _imported() -> Any:
    """Import the package; without its vocabulary it would read every text as unknown tokens, without a warning."""
    missing = [name for name in REPOSITORIES if not _readable(set(_cached(name)))]
    if REPOSITORIES[0] not in missing:
        try:
            import laion_clap

            return laion_clap
        except Exception:  # some versions of transformers also need the tokenizers that are not used
            if not missing:
                raise
    raise ValueError(
        f"laion_clap loads tokenizers when it is imported, and the hub's cache lacks {', '.join(missing)}: "
        "fetch each once, with a network, by transformers.AutoTokenizer.from_pretrained"
    )


def _readable(files: set[str]) -> bool:
    return any(needed <= files for needed in VOCABULARIES)


@contextmanager
def _untrained_roberta(state: State, path: str) -> Iterator[None]:
    """Let ``RobertaModel.from_pretrained`` build an untrained model of the checkpoint's size inside the block.

    The checkpoint's own weights are loaded into it afterwards.
    """
    from transformers import RobertaConfig, RobertaModel

    layers = [int(n[1]) for name in state if (n := re.match(r"text_branch\.encoder\.layer\.(\d+)\.", name))]
    try:
        rows = {
            name: state[f"{TEXT}embeddings.{name}_embeddings.weight"].shape
            for name in ("word", "position", "token_type")
        }
        inner = state[f"{TEXT}encoder.layer.0.intermediate.dense.weight"].shape[0]
    except KeyError as error:
        raise ValueError(f"{path} is no CLAP with RoBERTa: it has no {error.args[0]}") from None
    config = RobertaConfig(
        vocab_size=rows["word"][0], hidden_size=rows["word"][1], max_position_embeddings=rows["position"][0],
        type_vocab_size=rows["token_type"][0], num_hidden_layers=1 + max(layers), intermediate_size=inner,
        num_attention_heads=rows["word"][1] // 64, layer_norm_eps=1e-5,
    )  # fmt: skip
    RobertaModel.from_pretrained = classmethod(lambda cls, *_, **__: cls(config))
    try:
        yield
    finally:
        del RobertaModel.from_pretrained


if __name__ == "__main__":
    os.environ.update(
        HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false", WANDB_MODE="disabled"
    )
    laion = Laion()
    serve(hello, {"load": laion.load, "audio": laion.audio, "text": laion.text, "count": laion.count})
