"""Script that makes the shipped recordings from a folder of CC0 originals.

    python tools/build_sounds.py SOUNDS

``SOUNDS`` holds ``MANIFEST.csv`` (path, sha256, licence, source, ...) and the files it names. Each original is
checked against its sha256, averaged to mono, resampled to 48 kHz (soxr HQ), cut to 3 s with a fade, scaled to one peak
and written as 16-bit FLAC; ``ORIGINS.csv`` beside them lists their origins.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

OUT = Path(__file__).parents[1] / "pytest_audioretrieval/data/sounds/recordings"
RATE = 48_000
LONGEST = 3 * RATE
FADE = RATE // 20
#: Three at once, each at 150/256, stay below full scale: 3 * 18000 * 150 / 256 = 31641.
PEAK = 18_000
SILENCE = 0.002

#: Recording id -> file below ``SOUNDS``.
ORIGINALS = {
    "cat": "ovos-animals-cc0/cat.mp3",
    "cow": "ovos-animals-cc0/cow.mp3",
    "dog": "ovos-animals-cc0/dog.mp3",
    "duck": "ovos-animals-cc0/duck.mp3",
    "frog": "ovos-animals-cc0/frog.mp3",
    "horse": "ovos-animals-cc0/horse.mp3",
    "owl": "ovos-animals-cc0/owl.mp3",
    "pig": "ovos-animals-cc0/pig.mp3",
    "rooster": "ovos-animals-cc0/rooster.mp3",
    "sheep": "ovos-animals-cc0/sheep.mp3",
    "crow": "sonic-pi-cc0/misc_crow.flac",
    "burp": "sonic-pi-cc0/misc_burp.flac",
    "cinematic-boom": "sonic-pi-cc0/misc_cineboom.flac",
    "choir": "sonic-pi-cc0/ambi_choir.flac",
    "dark-whoosh": "sonic-pi-cc0/ambi_dark_woosh.flac",
    "drone": "sonic-pi-cc0/ambi_drone.flac",
    "glass-hum": "sonic-pi-cc0/ambi_glass_hum.flac",
    "glass-rub": "sonic-pi-cc0/ambi_glass_rub.flac",
    "haunted-hum": "sonic-pi-cc0/ambi_haunted_hum.flac",
    "lunar": "sonic-pi-cc0/ambi_lunar_land.flac",
    "piano": "sonic-pi-cc0/ambi_piano.flac",
    "sauna": "sonic-pi-cc0/ambi_sauna.flac",
    "buzz": "sonic-pi-cc0/ambi_soft_buzz.flac",
    "swoosh": "sonic-pi-cc0/ambi_swoosh.flac",
    "bass-drop": "sonic-pi-cc0/bass_drop_c.flac",
    "bass-thick": "sonic-pi-cc0/bass_thick_c.flac",
    "bass-voice": "sonic-pi-cc0/bass_voxy_c.flac",
    "bass-wood": "sonic-pi-cc0/bass_woodsy_c.flac",
    "boom-kick": "sonic-pi-cc0/bd_boom.flac",
    "cowbell": "sonic-pi-cc0/drum_cowbell.flac",
    "closed-hihat": "sonic-pi-cc0/drum_cymbal_closed.flac",
    "splash": "sonic-pi-cc0/drum_splash_hard.flac",
    "drum-roll": "sonic-pi-cc0/drum_roll.flac",
    "snare": "sonic-pi-cc0/drum_snare_hard.flac",
    "high-tom": "sonic-pi-cc0/drum_tom_hi_hard.flac",
    "low-tom": "sonic-pi-cc0/drum_tom_lo_hard.flac",
    "beep": "sonic-pi-cc0/elec_beep.flac",
    "e-bell": "sonic-pi-cc0/elec_bell.flac",
    "bong": "sonic-pi-cc0/elec_bong.flac",
    "chime": "sonic-pi-cc0/elec_chime.flac",
    "pop": "sonic-pi-cc0/elec_pop.flac",
    "triangle": "sonic-pi-cc0/elec_triangle.flac",
    "twang": "sonic-pi-cc0/elec_twang.flac",
    "woodblock": "sonic-pi-cc0/elec_wood.flac",
    "filtered-snare": "sonic-pi-cc0/elec_filt_snare.flac",
    "fuzz-tom": "sonic-pi-cc0/elec_fuzz_tom.flac",
    "glitch-robot": "sonic-pi-cc0/glitch_robot1.flac",
    "guitar-fifths": "sonic-pi-cc0/guit_e_fifths.flac",
    "guitar-slide": "sonic-pi-cc0/guit_e_slide.flac",
    "guitar-chord": "sonic-pi-cc0/guit_em9.flac",
    "guitar-harmonics": "sonic-pi-cc0/guit_harmonics.flac",
    "printer": "sonic-pi-cc0/loop_3d_printer.flac",
    "breakbeat": "sonic-pi-cc0/loop_breakbeat.flac",
    "amen-break": "sonic-pi-cc0/loop_amen_full.flac",
    "computer": "sonic-pi-cc0/loop_compus.flac",
    "techno": "sonic-pi-cc0/loop_garzul.flac",
    "industrial": "sonic-pi-cc0/loop_industrial.flac",
    "groove": "sonic-pi-cc0/loop_mika.flac",
    "jungle": "sonic-pi-cc0/loop_safari.flac",
    "tabla-loop": "sonic-pi-cc0/loop_tabla.flac",
    "phone": "sonic-pi-cc0/mehackit_phone1.flac",
    "robot": "sonic-pi-cc0/mehackit_robot5.flac",
    "small-bell": "sonic-pi-cc0/perc_bell.flac",
    "door": "sonic-pi-cc0/perc_door.flac",
    "snap": "sonic-pi-cc0/perc_snap.flac",
    "till": "sonic-pi-cc0/perc_till.flac",
    "swish": "sonic-pi-cc0/perc_swash.flac",
    "tabla-hit": "sonic-pi-cc0/tabla_na_o.flac",
    "tabla-bass": "sonic-pi-cc0/tabla_ghe3.flac",
    "backspin": "sonic-pi-cc0/vinyl_backspin.flac",
    "vinyl-hiss": "sonic-pi-cc0/vinyl_hiss.flac",
    "rewind": "sonic-pi-cc0/vinyl_rewind.flac",
    "scratch": "sonic-pi-cc0/vinyl_scratch.flac",
}

#: Origins that MANIFEST.csv leaves empty, as the collection's own README lists them under another spelling.
SOURCES = {
    "glitch-robot": "https://freesound.org/people/hullum/sounds/415557/",
    "printer": "https://freesound.org/people/hullum/sounds/415571/",
    "phone": "https://freesound.org/people/hullum/sounds/415577/",
    "robot": "https://freesound.org/people/hullum/sounds/415564/",
}


def main(sounds: Path) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with (sounds / "MANIFEST.csv").open(newline="", encoding="utf-8") as stream:
        manifest = {row["path"]: row for row in csv.DictReader(stream)}
    rows = [_build(sounds, manifest[origin], name) for name, origin in ORIGINALS.items()]
    with (OUT / "ORIGINS.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    total = sum(path.stat().st_size for path in OUT.glob("*.flac"))
    print(f"{len(rows)} recordings, {total:,} bytes")


def _build(sounds: Path, origin: dict[str, str], name: str) -> dict[str, str]:
    source = sounds / origin["path"]
    content = source.read_bytes()
    if hashlib.sha256(content).hexdigest() != origin["sha256"]:
        raise SystemExit(f"{source}: sha256 differs from MANIFEST.csv")
    if origin["licence"] != "CC0":
        raise SystemExit(f"{source}: licence is {origin['licence']}, expected CC0")
    samples, rate = soundfile.read(source, dtype="float64", always_2d=True)
    mono = soxr.resample(samples.mean(axis=1), rate, RATE, quality="HQ")
    out = OUT / f"{name}.flac"
    soundfile.write(out, _shape(mono), RATE, format="FLAC", subtype="PCM_16")
    return {
        "file": out.name,
        "origin": origin["path"],
        "source": origin["source"] or SOURCES[name],
        "licence": "CC0-1.0",
        "origin_sha256": origin["sha256"],
        "sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
    }


def _shape(mono: npt.NDArray[np.float64]) -> npt.NDArray[np.int16]:
    """Cut silence at both ends and everything past 3 s, fade the end, scale to the peak, round to int16."""
    audible = np.flatnonzero(np.abs(mono) > SILENCE * np.abs(mono).max())
    kept = mono[audible[0] : min(audible[-1] + 1, audible[0] + LONGEST)].copy()
    fade = min(FADE, kept.size // 4)
    kept[-fade:] *= np.linspace(1.0, 0.0, fade)
    shaped: npt.NDArray[np.int16] = np.round(kept * (PEAK / np.abs(kept).max())).astype(np.int16)
    return shaped


if __name__ == "__main__":
    main(Path(sys.argv[1]))
