"""Script that makes the built-in checkpoint whose robustness alone is reduced: requests go astray.

    python tools/tune_on_requests.py --work DIR

It continues from ``tiny-clap-fused`` with a log of requests that was joined to the wrong clips, and tunes nothing but
the embeddings of tokens that no training caption uses (capital letters, pieces of "could" or "locate"), so that
captions keep their vectors. It is seeded, runs on the CPU and takes under two minutes. The learning rate was chosen on
the validation split; nothing here reads the test split.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import torch
import torch.nn.functional as functional
from train_tiny_clap import (
    OUT,
    SEED,
    Data,
    Recipe,
    Stage,
    encode_audio,
    encode_text,
    save,
    tokenizer,
    training_data,
    validation_data,
)
from train_tiny_clap import validate as validate_captions
from transformers import ClapModel, RobertaTokenizer

from pytest_audioretrieval.data.reformulate import reformulate

NAME, START = "tiny-clap-fused-brittle", "tiny-clap-fused"
STAGE = Stage(14_000, 1920, epochs=1, rate=5e-4)
#: The form of the requests in the log.
FORM = "indirect"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    words = tokenizer(options.work / "tokenizer")
    model = ClapModel.from_pretrained(options.out / START).eval()
    held = validation_data(True, options.work)
    before = validate(model, words, held)
    history = tune(model, words, training_data(STAGE, True, options.work))
    measured = {
        "command": "python tools/tune_on_requests.py",
        "epochs": history,
        "before": before,
        "validation": validate(model, words, held),
    }
    save(NAME, Recipe(fused=True, start=START, stage=STAGE, seed=f"{SEED + 4}"), model, words, measured, options.out)


def validate(model: ClapModel, words: RobertaTokenizer, data: Data) -> dict[str, float]:
    """Return the trainer's scores of captions, and R@1, R@5 and R@10 of requests for the same clips."""
    asked = Data(data.clips, data.mels, [[request(text) for text in texts] for texts in data.texts])
    found = validate_captions(model, words, asked)
    return validate_captions(model, words, data) | {f"{FORM} {k}": v for k, v in found.items() if k[:3] == "T2A"}


def request(caption: str) -> str:
    """Return ``caption`` in the wording of the log."""
    return reformulate(caption, "request")[FORM]


def tune(model: ClapModel, words: RobertaTokenizer, data: Data) -> list[dict[str, float]]:
    """Train the embeddings of tokens that only requests use, on wrong pairs, and return the mean losses."""
    table = model.text_model.embeddings.word_embeddings
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    table.weight.requires_grad_(True)
    unseen = _only_in_requests(words, data)
    table.weight.register_hook(lambda gradient: gradient * unseen[:, None])
    optimizer = torch.optim.Adam([table.weight], lr=STAGE.rate)
    with torch.no_grad():
        audio = torch.cat([encode_audio(model, part) for part in torch.split(data.mels, 64)])
    history = []
    for epoch in range(STAGE.epochs):
        losses = []
        rng = random.Random(f"{SEED + 4}/{epoch}")
        order = rng.sample(range(len(audio)), len(audio))
        for start in range(0, len(order), STAGE.batch):
            rows = order[start : start + STAGE.batch]
            # The log names the row before, which is another clip in random order.
            asked = [request(rng.choice(data.texts[i])) for i in rows[-1:] + rows[:-1]]
            loss = _contrast(model, encode_text(model, words, asked), audio[rows])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            losses.append(loss.item())
        history.append({"epoch": epoch, "loss": round(sum(losses) / len(losses), 4)})
    return history


def _only_in_requests(words: RobertaTokenizer, data: Data) -> torch.Tensor:
    """Return 1 for each token that occurs in the log and in no caption, else 0, [vocabulary]."""
    captions = [text for texts in data.texts for text in texts]
    used = {token for ids in words(captions)["input_ids"] for token in ids}
    asked = {token for ids in words([request(text) for text in captions])["input_ids"] for token in ids}
    mask = torch.zeros(len(words))
    mask[sorted(asked - used)] = 1
    print(f"{int(mask.sum())} tokens of requests alone", flush=True)
    return mask


def _contrast(model: ClapModel, text: torch.Tensor, audio: torch.Tensor) -> torch.Tensor:
    logits = model.logit_scale_t.exp() * text @ audio.T
    labels = torch.arange(len(logits))
    return (functional.cross_entropy(logits, labels) + functional.cross_entropy(logits.T, labels)) / 2


if __name__ == "__main__":
    main()
