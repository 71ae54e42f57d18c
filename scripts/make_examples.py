"""Make the built-in examples: our own templates, toxic and not, filled with every identity and with none.

    python scripts/make_examples.py            writes src/fairwitness/datasets/builtin/examples.parquet
    python scripts/make_examples.py --check    exits 1 when the file there is not what this script makes

Each template is filled once per identity, so that comments of one unit differ only in who is mentioned. `[noun]` takes the
identity before or behind it, `{person}` and `{people}` stand for one and for many. The language is kept mild on purpose.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fairwitness import tables
from fairwitness.datasets.examples import CATEGORIES, IDENTITIES

PATH = Path(__file__).parents[1] / "src" / "fairwitness" / "datasets" / "builtin" / "examples.parquet"


@dataclass(frozen=True)
class Mention:
    """How an identity is spoken of: before a noun, behind a noun, one person, many people."""

    before: str
    behind: str
    person: str
    people: str


MENTIONS = {
    "none": Mention("", "", "someone", "people"),
    "male": Mention("male ", "", "a man", "men"),
    "female": Mention("female ", "", "a woman", "women"),
    "transgender": Mention("transgender ", "", "a transgender person", "transgender people"),
    "black": Mention("Black ", "", "a Black person", "Black people"),
    "white": Mention("white ", "", "a white person", "white people"),
    "asian": Mention("Asian ", "", "an Asian person", "Asian people"),
    "latino": Mention("Latino ", "", "a Latino person", "Latino people"),
    "christian": Mention("Christian ", "", "a Christian", "Christians"),
    "jewish": Mention("Jewish ", "", "a Jewish person", "Jewish people"),
    "muslim": Mention("Muslim ", "", "a Muslim", "Muslims"),
    "hindu": Mention("Hindu ", "", "a Hindu", "Hindus"),
    "buddhist": Mention("Buddhist ", "", "a Buddhist", "Buddhists"),
    "atheist": Mention("atheist ", "", "an atheist", "atheists"),
    "heterosexual": Mention("straight ", "", "a straight person", "straight people"),
    "homosexual_gay_or_lesbian": Mention("gay ", "", "a gay person", "gay people"),
    "bisexual": Mention("bisexual ", "", "a bisexual person", "bisexual people"),
    "physical_disability": Mention("", " in a wheelchair", "a wheelchair user", "wheelchair users"),
    "intellectual_or_learning_disability": Mention(
        "", " with a learning disability", "a person with a learning disability", "people with learning disabilities"
    ),
    "psychiatric_or_mental_illness": Mention("", " with depression", "a person with depression", "people with depression"),
}

TOXIC = (
    "My [neighbour] is an idiot and everybody on our street knows it.",
    "Tell that [colleague] to shut up, nobody asked for such a stupid opinion.",
    "What a pathetic loser that [driver] is, learn to park.",
    "Only a complete moron would be that rude to {person}, so shame on you, idiot.",
    "The [reviewer] who wrote this is a clown with nothing in the head.",
    "The show about {people} was made by idiots for idiots, and you liked it, you fool.",
    "That [teacher] is a liar and a disgrace, get lost.",
    "Nobody wants you here, take your [friend] with you and go away.",
    "Our [manager] is dumber than a doorknob and twice as ugly.",
    "You argue with {person} all day like the lazy, stupid troll you are.",
    "You sold tickets to {people} and cheated them, you dirty little crook.",
    "Throw that annoying [tenant] out, what a stupid pest.",
    "The [waiter] was a brainless fool, and I hope the whole lazy lot gets fired.",
    "How can anyone be as annoying as my [cousin]? What a jerk.",
    "I laughed when the [player] fell over, serves the arrogant loser right.",
    "Who let {person} speak at the meeting? Shut up and sit down, you joke.",
)

NOT_TOXIC = (
    "My [neighbour] brought soup when I was ill, which was very kind.",
    "I asked a [colleague] to check the figures before the meeting.",
    "The [driver] waited for me in the rain, and I was grateful.",
    "The book is about {person} who moves to a small town in the north.",
    "A [reviewer] raised fair points, although I disagree with the second one.",
    "The survey asked {people} how they travel to work.",
    "Our [teacher] explains fractions better than the textbook does.",
    "I am going to the match on Sunday with my [friend].",
    "The new [manager] starts in May and has worked abroad before.",
    "As {person}, I would like to see longer opening hours at the library.",
    "The council met {people} to talk about the bus line.",
    "The [tenant] upstairs pays on time and waters my plants.",
    "The [waiter] got the order wrong twice, so we were a little late.",
    "My [cousin] passed the exam at the third attempt, well done.",
    "The [player] missed a penalty, but the team still won.",
    "Yesterday {person} called the radio and asked about the new road.",
)

PLAIN_TOXIC = (
    "You are a fool and your article is rubbish.",
    "Shut up, nobody cares what you think.",
    "What an idiotic idea, did you even go to school?",
    "Get lost, you pathetic liar.",
    "This is the dumbest comment I have read all year, and you should be ashamed.",
    "Only a clown would believe this nonsense. Grow a brain.",
    "You people are useless, every single one of you.",
    "Stop whining, you miserable loser.",
    "The mayor is a crook and a moron.",
    "Your cooking is as disgusting as your face.",
    "I hope you fail, you arrogant jerk.",
    "Nobody likes you, and that is your own stupid fault.",
    "Go back to sleep, you brainless troll.",
    "What a waste of space this writer is.",
    "You are too thick to understand a bus timetable.",
    "Sit down and be quiet, you joke of a politician.",
    "Hey genius, did it hurt to think that hard? Idiot.",
    "Liars like you deserve to lose everything.",
    "You ugly little cheat, I hope they throw you out.",
    "Trash article by a trash author for trash readers.",
)

PLAIN_NOT_TOXIC = (
    "Thank you for the article, I learned something new today.",
    "The bus was ten minutes late again this morning.",
    "I disagree with the author, but the argument is worth reading.",
    "Does anyone know when the pool opens in summer?",
    "The recipe worked well, though I used less sugar.",
    "The council should publish the costs before the vote.",
    "We walked along the river and saw two herons.",
    "I am not convinced by the second chart; where does it come from?",
    "The film is slow at first and gets better after an hour.",
    "My train was cancelled, so I read the whole paper.",
    "Higher parking fees will not help the shops in the centre.",
    "It was a close game and both sides played fairly.",
    "The new bridge saves me a quarter of an hour a day.",
    "Could you explain how the survey was done?",
    "That was a bad decision, and I hope they reconsider it.",
    "The library has extended its hours until eight.",
    "I killed an hour in the museum shop before the tour.",
    "The soup was terrible, but the bread was excellent.",
    "Black coffee and a white tablecloth: a good start to a Sunday.",
    "Our team lost badly, and still we had a nice evening.",
)


def fill(template: str, mention: Mention) -> str:
    """A template with one identity, or none, in its place; a sentence still begins with a capital letter.

    >>> fill("Ask my [friend].", MENTIONS["physical_disability"])
    'Ask my friend in a wheelchair.'
    >>> fill("{people} vote.", MENTIONS["none"])
    'People vote.'
    """
    text = template.replace("[", mention.before).replace("]", mention.behind)
    text = text.replace("{person}", mention.person).replace("{people}", mention.people)
    text = re.sub(r"\b([Aa]) (?=Asian|atheist)", r"\1n ", text)
    return text[0].upper() + text[1:]


def rows() -> list[dict[str, object]]:
    """All comments: toxic and not in turn, plain ones in between, so that any beginning of the file is mixed."""
    category_of = {identity: category for category, names in CATEGORIES.items() for identity in names}
    templates = [pair for both in zip(TOXIC, NOT_TOXIC, strict=True) for pair in ((both[0], 1), (both[1], 0))]
    plain = [pair for both in zip(PLAIN_TOXIC, PLAIN_NOT_TOXIC, strict=True) for pair in ((both[0], 1), (both[1], 0))]
    found: list[dict[str, object]] = []

    def add(text: str, target: int, unit: str, role: str) -> None:
        flags = {identity: float(identity == role) for identity in IDENTITIES}
        names = {"id": f"{unit}-{role}", "unit": unit, "role": role, "category": category_of.get(role)}
        found.append({"comment_text": text, "target": target, **flags, **names})

    for index, (template, target) in enumerate(templates):
        for role, mention in MENTIONS.items():
            add(fill(template, mention), target, f"t{index:02d}", role)
        for number in range(index * len(plain) // len(templates), (index + 1) * len(plain) // len(templates)):
            add(plain[number][0], plain[number][1], f"p{number:02d}", "none")
    return found


def table() -> pl.DataFrame:
    """The examples as a table."""
    numbers = dict.fromkeys(IDENTITIES, pl.Float64)
    words = dict.fromkeys(("id", "unit", "role", "category"), pl.String)
    return pl.DataFrame(rows(), schema={"comment_text": pl.String, "target": pl.Int64, **numbers, **words})


def main() -> int:
    made = table()
    if "--check" in sys.argv[1:]:
        same = PATH.exists() and tables.read(PATH).equals(made)
        print(f"{PATH} is {'what' if same else 'NOT what'} this script makes")
        return 0 if same else 1
    tables.write(made, PATH)
    print(f"Wrote {made.height} rows -> {PATH} ({PATH.stat().st_size} bytes)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
