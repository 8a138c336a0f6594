"""Look up the words of sentences in a table of vectors with GATHER_ND.

The vectors are learned from this project's licence: words that stand near the same words are alike.

    python examples/embedding_lookup.py [FOLDER]        saves embedding_lookup.png there
"""

import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dmlgpu as dml

LICENCE = Path(__file__).resolve().parent.parent / "LICENSE"
SENTENCES = ("permission to use copy and modify", "any claim damages or other liability")


def learn(words: list[str], vocabulary: list[str], width: int = 16) -> np.ndarray:
    """Vectors of `width` numbers, from the counts of each word's neighbours."""
    number = {word: i for i, word in enumerate(vocabulary)}
    counts = np.zeros((len(vocabulary), len(vocabulary)))
    for i, word in enumerate(words):
        for distance, other in enumerate(words[i + 1 : i + 6], start=1):
            counts[number[word], number[other]] += 1 / distance
    counts = np.log1p(counts + counts.T)
    vectors, values, _ = np.linalg.svd(counts)
    table = vectors[:, :width] * values[:width]
    return (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.float32)


def main(folder: Path) -> None:
    """One gather for all sentences, compared with NumPy's indexing bit for bit."""
    words = re.findall(r"[a-z]+", LICENCE.read_text(encoding="utf-8").lower())
    vocabulary = sorted(set(words))
    table = learn(words, vocabulary)
    tokens = np.array([[vocabulary.index(word) for word in s.split()] for s in SENTENCES])

    x = dml.default_device().tensor(table)
    found = dml.gather_nd(x, tokens[..., None]).numpy()  # one coordinate per tuple: a row
    assert found.tobytes() == table[tokens].tobytes()
    print(f"table {table.shape}, tokens {tokens.shape}, vectors {found.shape}: equal to NumPy")

    flat = found.reshape(-1, found.shape[-1])
    names = " ".join(SENTENCES).split()
    figure, axis = plt.subplots(figsize=(7.2, 6.4), layout="constrained")
    shown = axis.imshow(flat @ flat.T, cmap="Blues", vmin=0, vmax=1)
    axis.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axis.set_yticks(range(len(names)), names)
    axis.set_title("how alike the words are, by the vectors looked up")
    figure.colorbar(shown, label="cosine", shrink=0.8)
    figure.savefig(folder / "embedding_lookup.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
