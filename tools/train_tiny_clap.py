"""Script that trains the built-in checkpoints: real ClapModel + ClapProcessor folders, small enough to ship.

    python tools/train_tiny_clap.py NAME --work DIR [--threads N]

``NAME`` is one of the recipes below. The training is seeded, runs on the CPU and is resumable: a stopped run continues
from its last epoch in ``DIR``. The result is written to ``pytest_audioretrieval/models/builtin/NAME``, with the scores
on the validation split in its ``training.json``. Nothing here reads the test split.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as functional
from tokenizers import ByteLevelBPETokenizer
from tqdm import tqdm
from transformers import ClapConfig, ClapFeatureExtractor, ClapModel, ClapProcessor, RobertaTokenizer

from pytest_audioretrieval.data.sounds.recipe import Composition, compositions, training_compositions
from pytest_audioretrieval.data.sounds.render import mix
from pytest_audioretrieval.data.sounds.wording import captions, every_caption_word

OUT = Path(__file__).parents[1] / "pytest_audioretrieval/models/builtin"
SEED = 20261028
FRAMES, MELS = 1001, 64
VOCABULARY = 1200
WORDINGS = 8

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Stage:
    """One one-cycle pass of training.

    Attributes:
        first, clips: range of the training compositions that ``near`` makes.
        epochs: passes over them.
        rate: peak learning rate.
        phrases: number of wordings of each recording to draw captions from.
        near: compositions of each trio, near misses of one another.
        grouped: True to shuffle near misses as one; otherwise neighbours are shuffled four by four.
        misjoined: True to join clips and captions on their recordings alone: a caption then names the right sounds, but
            often another order.
        batch: number of clips a step.
    """

    first: int
    clips: int
    epochs: int
    rate: float
    phrases: int = 4
    near: int = 8
    grouped: bool = True
    misjoined: bool = False
    batch: int = 96


@dataclass(frozen=True)
class Recipe:
    """The training of one checkpoint.

    Attributes:
        fused: the architecture of laion/clap-htsat-fused or of -unfused.
        stage: its data and length.
        start: checkpoint to continue from, or None.
        seed: of weights, order and wordings.
    """

    fused: bool
    stage: Stage
    seed: str
    start: str | None = None


BASE = Stage(0, 7000, epochs=14, rate=8e-4, phrases=3, near=4, grouped=False)
FURTHER = Stage(7000, 7000, epochs=8, rate=5e-4)
#: A table joined on the recordings instead of the clip: captions name the right sounds in any order.
MISJOINED = Stage(14_000, 1920, epochs=1, rate=1e-4, misjoined=True)

RECIPES = {
    "tiny-clap-fused": Recipe(fused=True, stage=BASE, seed=f"{SEED}"),
    "tiny-clap-unfused": Recipe(fused=False, stage=BASE, seed=f"{SEED + 1}"),
    "tiny-clap-fused-v2": Recipe(fused=True, start="tiny-clap-fused", stage=FURTHER, seed=f"{SEED}/1"),
    "tiny-clap-fused-regressed": Recipe(fused=True, start="tiny-clap-fused", stage=MISJOINED, seed=f"{SEED + 3}"),
}


def extractor(fused: bool) -> ClapFeatureExtractor:
    """Return the front-end of the laion checkpoints: 48 kHz, 64 mel bins, 10 s."""
    return ClapFeatureExtractor(
        truncation="fusion" if fused else "rand_trunc",
        padding="repeatpad",
        frequency_min=50,
        frequency_max=14_000,
        top_db=None,
    )


def log_mel(samples: Floats, fused: bool, front: ClapFeatureExtractor) -> Floats:
    """Return the output of ``front`` for a clip of at most 10 s, [1001, 64] in dB, several times as fast."""
    length = front.nb_max_samples
    tiled = np.tile(samples, length // samples.size)
    padded = torch.from_numpy(np.pad(tiled, (0, length - tiled.size)).astype(np.float32))
    spectrum = torch.stft(padded, 1024, 480, window=torch.hann_window(1024), center=True, return_complex=True)
    filters = torch.from_numpy(front.mel_filters if fused else front.mel_filters_slaney).float()
    power = spectrum.abs().square().T @ filters
    decibels: Floats = (10 * power.clamp(min=1e-10).log10()).numpy()
    return decibels


def features(clips: list[Composition], fused: bool, path: Path) -> torch.Tensor:
    """Return the log-mels of ``clips``, float16 [N, 1001, 64], computed once and kept at ``path``."""
    shape = (len(clips), FRAMES, MELS)
    done = path.with_suffix(".done")
    if not done.exists():
        front = extractor(fused)
        store = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=shape)
        for row, clip in enumerate(tqdm(clips, desc=path.stem, mininterval=10)):
            store[row] = log_mel(np.divide(mix(clip), 32_768, dtype=np.float32), fused, front)
        store.flush()
        done.touch()
    return torch.from_numpy(np.load(path))


def tokenizer(folder: Path) -> RobertaTokenizer:
    """Return a byte-level BPE over the caption vocabulary, with RoBERTa's special tokens and 512-token limit."""
    folder.mkdir(parents=True, exist_ok=True)
    bpe = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    corpus = [
        *every_caption_word(),
        *(text for c in training_compositions(3000, 4) for text in captions(c, "train", 3, 3)),
    ]
    bpe.train_from_iterator(corpus, vocab_size=VOCABULARY, min_frequency=2, special_tokens=special, show_progress=False)
    bpe.save_model(str(folder))
    vocab = json.loads((folder / "vocab.json").read_text())
    merges = [
        tuple(line.split()) for line in (folder / "merges.txt").read_text().splitlines() if not line.startswith("#")
    ]
    return RobertaTokenizer(vocab=vocab, merges=merges, model_max_length=512)


def new_model(recipe: Recipe, words: RobertaTokenizer) -> ClapModel:
    """Return a CLAP of about 0.9 million parameters."""
    text = {
        "vocab_size": len(words),
        "hidden_size": 80,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 240,
        "max_position_embeddings": 514,
        "type_vocab_size": 1,
        "pad_token_id": words.pad_token_id,
        "bos_token_id": words.bos_token_id,
        "eos_token_id": words.eos_token_id,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    audio = {
        "patch_size": 8,
        "patch_stride": [8, 8],
        "patch_embeds_hidden_size": 32,
        "hidden_size": 128,
        "depths": [1, 2, 2],
        "num_attention_heads": [2, 4, 8],
        "num_hidden_layers": 3,
        "mlp_ratio": 3.0,
        "num_classes": 2,
        "enable_fusion": recipe.fused,
        "fusion_type": "aff_2d" if recipe.fused else None,
        "hidden_dropout_prob": 0.0,
    }
    torch.manual_seed(int(recipe.seed.partition("/")[0]))
    return ClapModel(ClapConfig(text_config=text, audio_config=audio, projection_dim=96))


@dataclass
class Data:
    """Features and captions of a list of clips."""

    clips: list[Composition]
    mels: torch.Tensor
    texts: list[list[str]]


def training_data(stage: Stage, fused: bool, work: Path) -> Data:
    clips = training_compositions(stage.first + stage.clips, stage.near)[stage.first :]
    name = f"train-{stage.first}-{stage.clips}-{stage.near}-{'htk' if fused else 'slaney'}.npy"
    described = _misjoin(clips) if stage.misjoined else clips
    texts = [captions(c, "train", WORDINGS, stage.phrases) for c in described]
    return Data(clips, features(clips, fused, work / name), texts)


def _misjoin(clips: list[Composition]) -> list[Composition]:
    """Return, for each clip, the next clip of the same recordings; the first for the last."""
    described = list(clips)
    for group in _near_misses(clips).values():
        for position, i in enumerate(group):
            described[i] = clips[group[(position + 1) % len(group)]]
    return described


def validation_data(fused: bool, work: Path) -> Data:
    clips = compositions("validation")
    mels = features(clips, fused, work / f"validation-{len(clips)}-{'htk' if fused else 'slaney'}.npy")
    return Data(clips, mels, [captions(c, "validation") for c in clips])


def encode_audio(model: ClapModel, mels: torch.Tensor) -> torch.Tensor:
    """Return unit vectors of short clips; a fused model then reads only the first of its four equal channels."""
    longer = torch.zeros(len(mels), 1, dtype=torch.bool)
    vectors: torch.Tensor = model.get_audio_features(
        input_features=mels.float()[:, None], is_longer=longer
    ).pooler_output
    return vectors


def encode_text(model: ClapModel, words: RobertaTokenizer, texts: list[str]) -> torch.Tensor:
    vectors: torch.Tensor = model.get_text_features(**words(texts, padding=True, return_tensors="pt")).pooler_output
    return vectors


@torch.inference_mode()
def validate(model: ClapModel, words: RobertaTokenizer, data: Data) -> dict[str, float]:
    """Return text-to-audio R@1, R@5, R@10 and audio-to-text R@1 of the validation split."""
    model.eval()
    audio = torch.cat([encode_audio(model, part) for part in torch.split(data.mels, 64)])
    flat = [t for texts in data.texts for t in texts]
    text = torch.cat([encode_text(model, words, flat[i : i + 64]) for i in range(0, len(flat), 64)])
    scores = text @ audio.T
    owner = torch.arange(len(flat)) // len(data.texts[0])
    rank = (scores > scores.gather(1, owner[:, None])).sum(1) + 1
    back = (owner[scores.argmax(0)] == torch.arange(len(audio))).float().mean()
    rates = {f"T2A R@{k}": float((rank <= k).float().mean()) for k in (1, 5, 10)}
    return {name: round(value, 4) for name, value in {**rates, "A2T R@1": float(back)}.items()}


def batches(clips: list[Composition], stage: Stage, rng: random.Random) -> Iterator[list[int]]:
    """Yield indices in random order, with near misses side by side.

    So a batch teaches the order of sounds.
    """
    groups = list(_near_misses(clips).values()) if stage.grouped else _runs_of_four(len(clips))
    rng.shuffle(groups)
    order = [i for group in groups for i in group]
    for start in range(0, len(order) - stage.batch + 1, stage.batch):
        yield order[start : start + stage.batch]


def _near_misses(clips: list[Composition]) -> dict[frozenset[str], list[int]]:
    """Return the indices of the clips that hold the same recordings."""
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for i, clip in enumerate(clips):
        groups[frozenset(name for moment in clip for name in moment)].append(i)
    return groups


def _runs_of_four(count: int) -> list[list[int]]:
    """Return neighbours four by four: most near misses together, some apart."""
    return [list(range(i, min(i + 4, count))) for i in range(0, count, 4)]


def train(name: str, recipe: Recipe, work: Path, out: Path) -> None:
    """Train ``name`` to its end, from where an earlier run stopped, and save it."""
    work.mkdir(parents=True, exist_ok=True)
    words = tokenizer(work / "tokenizer")
    model = ClapModel.from_pretrained(out / recipe.start) if recipe.start else new_model(recipe, words)
    print(f"{name}: {sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    held = validation_data(recipe.fused, work)
    history = _stage(name, recipe, model, words, held, work)
    save(name, recipe, model, words, {"epochs": history, "validation": validate(model, words, held)}, out)


def _stage(
    name: str, recipe: Recipe, model: ClapModel, words: RobertaTokenizer, held: Data, work: Path
) -> list[dict[str, float]]:
    stage = recipe.stage
    optimizer = torch.optim.AdamW(model.parameters(), lr=stage.rate, weight_decay=0.01)
    steps = stage.epochs * (stage.clips // stage.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, stage.rate, total_steps=steps, pct_start=0.15)
    state = State(model, optimizer, schedule)
    history = state.resume(work / f"{name}.pt")
    if len(history) == stage.epochs:
        return history
    data = training_data(stage, recipe.fused, work)
    for epoch in range(len(history), stage.epochs):
        started = time.perf_counter()
        loss = _epoch(state, words, data, stage, f"{recipe.seed}/{epoch}")
        row = {"epoch": epoch, "loss": round(loss, 4), "seconds": round(time.perf_counter() - started, 1)}
        history.append({**row, **validate(model, words, held)})
        print(json.dumps(history[-1]), flush=True)
        state.keep(work / f"{name}.pt", history)
    return history


@dataclass(frozen=True)
class State:
    """The state from which a stopped run continues."""

    model: ClapModel
    optimizer: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.OneCycleLR

    def keep(self, path: Path, history: list[dict[str, float]]) -> None:
        parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "schedule")}
        torch.save({**parts, "history": history}, path.with_suffix(".tmp"))
        path.with_suffix(".tmp").replace(path)

    def resume(self, path: Path) -> list[dict[str, float]]:
        if not path.exists():
            return []
        saved = torch.load(path, weights_only=True)
        for name in ("model", "optimizer", "schedule"):
            getattr(self, name).load_state_dict(saved[name])
        return list(saved["history"])


def _epoch(state: State, words: RobertaTokenizer, data: Data, stage: Stage, key: str) -> float:
    """Train for one pass over the data and return the mean loss."""
    state.model.train()
    rng = random.Random(key)
    torch.manual_seed(rng.getrandbits(32))
    losses = []
    for rows in tqdm(list(batches(data.clips, stage, rng)), desc=key, mininterval=30):
        texts = [data.texts[i][rng.randrange(len(data.texts[i]))] for i in rows]
        losses.append(_step(state, encode_text(state.model, words, texts), encode_audio(state.model, data.mels[rows])))
    return sum(losses) / len(losses)


def _step(state: State, text: torch.Tensor, audio: torch.Tensor) -> float:
    """Train on one batch with the contrastive loss in both directions (CLIP's loss)."""
    logits = state.model.logit_scale_t.exp() * text @ audio.T
    labels = torch.arange(len(logits))
    loss = (functional.cross_entropy(logits, labels) + functional.cross_entropy(logits.T, labels)) / 2
    state.optimizer.zero_grad()
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(state.model.parameters(), 1.0)
    state.optimizer.step()
    state.schedule.step()
    with torch.no_grad():
        state.model.logit_scale_t.clamp_(max=4.6)
    return loss.item()


def save(
    name: str, recipe: Recipe, model: ClapModel, words: RobertaTokenizer, measured: dict[str, object], out: Path
) -> None:
    """Write the folder as ``save_pretrained`` does, with a record of the training beside it."""
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    model.eval().save_pretrained(folder, safe_serialization=True)
    front = extractor(recipe.fused)
    ClapProcessor(feature_extractor=front, tokenizer=words).save_pretrained(folder)
    record = {"command": f"python tools/train_tiny_clap.py {name}", "recipe": asdict(recipe), **measured}
    (folder / "training.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"{folder}: {sum(p.stat().st_size for p in folder.iterdir()):,} bytes", flush=True)


def _keep_freed_memory() -> None:
    """Tell glibc not to return large blocks to the system: mapping them again took half of every step."""
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return
    trim_threshold, mmap_threshold = -1, -3
    libc.mallopt(mmap_threshold, 1 << 30)
    libc.mallopt(trim_threshold, (1 << 31) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    _keep_freed_memory()
    train(options.name, RECIPES[options.name], options.work, options.out)


if __name__ == "__main__":
    main()
