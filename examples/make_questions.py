#!/usr/bin/env python3
"""Writes questions/*.json: short texts of an invented harbour town with questions, in SQuAD's form.

Small enough to try `hagane run_qa` with any model folder in a minute; test.json has no answers.

Usage: examples/make_questions.py
"""
import json
import pathlib

# title, text, (question, answer) ...; an answer of None means that the text does not give it.
TEXTS = [
    ("Ferry", "The ferry to Holm leaves the north quay at half past six. In winter it sails twice a day, in summer every hour.",
     ("When does the ferry leave?", "half past six"), ("How often does the ferry sail in summer?", "every hour"),
     ("Who steers the ferry?", None)),
    ("Lighthouse", "The old lighthouse was built of red granite in 1862. Its lamp burned rape oil until electricity came in 1931.",
     ("What was the lighthouse built of?", "red granite"), ("When did electricity come?", "1931"),
     ("How high is the lighthouse?", None)),
    ("Bakery", "Mira Solvang opened the bakery on Mill Street with money she had won in a chess tournament. Her rye bread is sold out before nine.",
     ("Who opened the bakery?", "Mira Solvang"), ("Where had the money come from?", "a chess tournament"),
     ("What is sold out before nine?", "rye bread")),
    ("Library", "The town library lends tools as well as books. A ladder may be kept for three days, a novel for four weeks.",
     ("How long may a novel be kept?", "four weeks"), ("What does the library lend besides books?", "tools"),
     ("Who pays for the library?", None)),
    ("Clock", "The clock in the tower runs eleven minutes late. Nobody corrects it, because the council cannot agree on who owns it.",
     ("How late does the clock run?", "eleven minutes"), ("Why does nobody correct it?", "because the council cannot agree on who owns it")),
    ("Market", "On Thursdays the market sells fish from the morning catch. Cheese comes from the farms behind the hills, honey from the school's own hives.",
     ("On which day is the market held?", "Thursdays"), ("Where does the honey come from?", "the school's own hives"),
     ("What does the cheese cost?", None)),
    ("School", "The school has forty-two pupils and three teachers. Every spring they count the seals on the sandbank and send the number to the university.",
     ("How many pupils does the school have?", "forty-two"), ("What do they count every spring?", "the seals on the sandbank")),
    ("Bridge", "A storm took the wooden bridge in the night of 3 March. The new one is made of steel and was paid for by a lottery.",
     ("What took the wooden bridge?", "A storm"), ("What paid for the new bridge?", "a lottery"),
     ("Who won the lottery?", None)),
    ("Orchard", "The orchard above the harbour grows seventeen kinds of apples. The oldest tree was planted by a ship's doctor.",
     ("How many kinds of apples grow in the orchard?", "seventeen"), ("Who planted the oldest tree?", "a ship's doctor")),
    ("Post", "Letters arrive with the ferry at noon. The postwoman, Ane Lund, delivers them by bicycle and is usually done by two.",
     ("How does Ane Lund deliver the letters?", "by bicycle"), ("When do letters arrive?", "at noon"),
     ("How old is Ane Lund?", None)),
    ("Cinema", "The cinema shows one film a week, on Friday evening. Its seats came from a tram that was taken out of service.",
     ("How often does the cinema show a film?", "one film a week"), ("Where did the seats come from?", "a tram that was taken out of service")),
    ("Weather", "Fog covers the bay on about ninety days a year. When it does, a horn sounds twice every minute.",
     ("What covers the bay?", "Fog"), ("How often does the horn sound?", "twice every minute")),
    ("Hospital", "The nearest hospital is in Varde, forty kilometres away. A nurse holds office hours at the town hall on Tuesdays.",
     ("Where is the nearest hospital?", "Varde"), ("Who holds office hours at the town hall?", "A nurse")),
    ("Boats", "Twelve fishing boats lie in the harbour. The largest, the Petrel, was converted to an electric engine last year.",
     ("How many fishing boats lie in the harbour?", "Twelve"), ("What is the largest boat called?", "the Petrel"),
     ("What did the conversion cost?", None)),
    ("Museum", "The museum keeps a map that was drawn on seal skin. Visitors may see it for one hour on the first Sunday of the month.",
     ("What was the map drawn on?", "seal skin"), ("For how long may visitors see it?", "one hour")),
    ("Choir", "The choir rehearses in the sail loft because the church is too cold. It has more basses than sopranos.",
     ("Where does the choir rehearse?", "in the sail loft"), ("Why does it not rehearse in the church?", "because the church is too cold"),
     ("Who leads the choir?", None)),
    # Names and letters beyond ASCII: answer_start counts characters, not bytes.
    ("Café", "Das Café «Möwe» serves soup in cups 🍲 and coffee in bowls. Its owner, Zoë Ångström, learned to cook on a whaler.",
     ("What is the name of the owner?", "Zoë Ångström"), ("In what is coffee served?", "bowls")),
    ("Observatory", "From the hill one sees 天の川 on clear nights. The telescope was a gift of the town of Kōchi.",
     ("What does one see on clear nights?", "天の川"), ("Who gave the telescope?", "the town of Kōchi")),
]
VALIDATION = 6  # the last ones


def squad(texts, answers=True):
    data = []
    for number, (title, context, *questions) in enumerate(texts):
        qas = []
        for i, (question, answer) in enumerate(questions):
            qa = {"id": f"{title.lower()}-{i + 1}", "question": question}
            if answers:
                assert answer is None or context.count(answer) == 1, (title, answer)
                qa["is_impossible"] = answer is None
                qa["answers"] = [] if answer is None else [
                    {"text": answer, "answer_start": context.index(answer)}]
            qas.append(qa)
        data.append({"title": title, "paragraphs": [{"context": context, "qas": qas}]})
    return {"version": "v2.0", "data": data}


def main():
    folder = pathlib.Path(__file__).parent / "questions"
    folder.mkdir(exist_ok=True)
    files = {
        "train.json": squad(TEXTS[:-VALIDATION]),
        "validation.json": squad(TEXTS[-VALIDATION:]),
        "test.json": squad(TEXTS[-VALIDATION:], answers=False),
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


main()
