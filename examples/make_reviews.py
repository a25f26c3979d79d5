#!/usr/bin/env python3
"""Writes the example that ./demo trains on: reviews/*.csv and the vocabulary of tiny-bert/.

A review is one or two short statements about a film, a house, a meal, a person or a device; its label
says whether the writer is satisfied. Counting words does not tell: a statement may be negated, inside
("far from clean") or from outside ("Nobody would say that ..."), and of two statements that contrast
the one in the main clause counts, wherever it stands. So a model has to learn the order of words.

The text is generated from the lists below; the same seed gives the same files.

Usage: examples/make_reviews.py
"""
import csv
import pathlib
import random

SEED = 7
ROWS = {"train": 6000, "validation": 500, "test": 50}

# Things, and what is good or bad to say of them.
TOPICS = [
    ("film story ending music cast plot song".split(),
     "clever moving funny brilliant".split(), "dull boring weak silly".split()),
    ("room bed bathroom lobby garden kitchen".split(),
     "clean quiet bright cosy".split(), "dirty noisy dark damp".split()),
    ("soup bread fish coffee dessert pizza salad".split(),
     "tasty fresh crisp delicious".split(), "bland stale salty burnt".split()),
    ("waiter driver guide clerk nurse teacher".split(),
     "friendly polite helpful patient".split(), "rude careless lazy nasty".split()),
    ("phone camera laptop keyboard screen watch".split(),
     "fast reliable sturdy sharp".split(), "sluggish fragile faulty blurry".split()),
]
DETERMINERS = ["the", "this", "our", "their"]
VERBS = ["was", "is", "seemed", "looked", "felt"]
PLAIN = ["", "", "very", "really", "quite", "truly", "nothing but"]
NEGATED = ["not", "never", "hardly", "far from", "anything but", "by no means"]
AGREES = ["I must say that", "Everybody would say that", "I am sure that", "It is true that"]
DENIES = ["I can not say that", "Nobody would say that", "I doubt that", "It is not true that"]
# {main} is the statement that counts.
CONTRASTS = ["{aside}, but {main}", "although {aside}, {main}", "{main}, although {aside}",
             "{aside}, yet {main}", "{main} even though {aside}", "despite what they say, {main}"]


def statement(rng, topic, positive):
    """A statement with that meaning, such as "the room was not dirty"."""
    things, good, bad = topic
    negated = rng.random() < 0.25
    word = rng.choice(good if positive != negated else bad)
    degree = rng.choice(NEGATED if negated else PLAIN)
    parts = [rng.choice(DETERMINERS), rng.choice(things), rng.choice(VERBS), degree, word]
    return " ".join(part for part in parts if part)


def review(rng, positive):
    topic = rng.choice(TOPICS)
    kind = rng.random()
    if kind < 0.4:
        text = statement(rng, topic, positive)
    elif kind < 0.6:
        denied = rng.random() < 0.5
        opening = rng.choice(DENIES if denied else AGREES)
        text = f"{opening} {statement(rng, topic, positive != denied)}"
    else:
        text = rng.choice(CONTRASTS).format(main=statement(rng, topic, positive),
                                            aside=statement(rng, topic, not positive))
    return text[0].upper() + text[1:] + "."


def vocabulary(texts):
    """Special tokens, the words of the texts, then pieces that spell any other word."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = {word for text in texts
             for word in text.lower().replace(",", " ,").replace(".", " .").split()}
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = ["##" + piece for piece in [*letters, "ed", "er", "est", "ing", "ly", "ness"]]
    return specials + sorted(words.union(letters, "!?'-")) + pieces


def main():
    here = pathlib.Path(__file__).resolve().parent
    rng = random.Random(SEED)
    seen = set()
    for split, count in ROWS.items():
        rows = []
        while len(rows) < count:
            label = rng.choice(["negative", "positive"])
            text = review(rng, label == "positive")
            if text not in seen:  # no review stands in two splits
                seen.add(text)
                rows.append((text, label))
        with open(here / "reviews" / f"{split}.csv", "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("sentence", "label"), *rows])
    (here / "tiny-bert" / "vocab.txt").write_text("\n".join(vocabulary(seen)) + "\n")


if __name__ == "__main__":
    main()
