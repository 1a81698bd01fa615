"""Counts the words of a text and prints a small report.

Usage: python word_count.py [FILE ...]

Without a file, the text is read from standard input.
"""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

APOSTROPHES = "'\u2019"


@dataclass
class Report:
    """What is known about a text once every line has been read."""

    lines: int = 0
    characters: int = 0
    words: Counter = field(default_factory=Counter)
    lengths: Counter = field(default_factory=Counter)

    def add_line(self, line):
        """Takes one more line into account."""
        self.lines += 1
        self.characters += len(line)
        for word in split_words(line):
            self.words[word] += 1
            self.lengths[len(word)] += 1

    @property
    def total(self):
        """How many words there are, repeated ones included."""
        return sum(self.words.values())

    @property
    def distinct(self):
        """How many different words there are."""
        return len(self.words)

    @property
    def average_length(self):
        """The mean number of letters in a word, or zero for an empty text."""
        if self.total == 0:
            return 0.0
        letters = sum(length * count for length, count in self.lengths.items())
        return letters / self.total

    def once_only(self):
        """Gives the words that occur a single time, in alphabetical order."""
        return sorted(word for word, count in self.words.items() if count == 1)

    def longest(self, number):
        """Gives the longest words; among equals, the alphabet decides."""
        return sorted(self.words, key=lambda word: (-len(word), word))[:number]


def split_words(line):
    """Yields the words of a line in lower case, without punctuation.

    An apostrophe belongs to a word when letters stand on both sides of it,
    so "don't" is one word, and the quotation marks of 'yes' are dropped.
    """
    word = ""
    for position, character in enumerate(line):
        if character.isalnum():
            word += character.lower()
        elif character in APOSTROPHES and word and line[position + 1 : position + 2].isalpha():
            word += "'"
        elif word:
            yield word
            word = ""
    if word:
        yield word


def read_files(paths):
    """Reads all files into one report; "-" stands for standard input."""
    report = Report()
    for path in paths:
        if path == "-":
            for line in sys.stdin:
                report.add_line(line)
        else:
            with Path(path).open(encoding="utf-8", errors="replace") as file:
                for line in file:
                    report.add_line(line)
    return report


def bar(count, highest, width=32):
    """Draws a count as a bar; the highest count fills the whole width."""
    if highest == 0:
        return ""
    return "#" * max(1, round(width * count / highest))


def print_report(report, number):
    """Prints totals, the most common words and the lengths of the words."""
    print(f"lines          {report.lines:>10,}")
    print(f"characters     {report.characters:>10,}")
    print(f"words          {report.total:>10,}")
    print(f"distinct words {report.distinct:>10,}")
    print(f"used only once {len(report.once_only()):>10,}")
    print(f"letters a word {report.average_length:>10.2f}")

    common = report.words.most_common(number)
    if not common:
        print("\nThere are no words in this text.")
        return

    print("\nMost common words")
    highest = common[0][1]
    for word, count in common:
        print(f"  {word:<16} {count:>7,}  {bar(count, highest)}")

    print("\nLengths of words")
    highest = max(report.lengths.values())
    for length in sorted(report.lengths):
        count = report.lengths[length]
        print(f"  {length:>2} letters {count:>13,}  {bar(count, highest)}")

    print("\nLongest words")
    print("  " + ", ".join(report.longest(number)))


def main(arguments=None):
    """Reads the command line, counts, and returns an exit code."""
    parser = argparse.ArgumentParser(description="Count the words of a text.")
    parser.add_argument("files", nargs="*", default=["-"], metavar="FILE")
    parser.add_argument("-n", "--number", type=int, default=10, help="how many words to list")
    options = parser.parse_args(arguments)
    try:
        report = read_files(options.files)
    except OSError as error:
        print(f"word_count: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    print_report(report, options.number)
    return 0


if __name__ == "__main__":
    sys.exit(main())
