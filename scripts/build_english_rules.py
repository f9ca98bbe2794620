"""Write the rules by which spaCy cuts English words as the module that GPT's tokenizer reads (needs spaCy).

    python scripts/build_english_rules.py

Other rules give other ids: run it only to begin a new kind of tokenizer.
"""

from __future__ import annotations

from pathlib import Path

from hf_attention_zoo.tokenization import english_words

TARGET = Path(english_words.__file__).with_name("english_rules.py")
WIDTH = 105
CLASSES = ("ALPHA", "ALPHA_LOWER", "ALPHA_UPPER", "COMBINING_DIACRITICS", "_other_symbols")  # written once
HEADER = '''"""The rules by which spaCy {version} cuts English words, as data (MIT, see NOTICE).

Made by scripts/build_english_rules.py. `<NAME>` in a pattern stands for a class of characters. Exceptions stand as
their parts with a space between, and two spaces between exceptions.
"""

'''


def rules_of_spacy() -> english_words.Rules:
    """Patterns and exceptions of the installed release."""
    import spacy
    from spacy.symbols import ORTH

    tokenizer = spacy.blank("en").tokenizer
    searches = (tokenizer.prefix_search, tokenizer.suffix_search, tokenizer.infix_finditer, tokenizer.url_match)
    exceptions = {
        text: [part[ORTH] for part in parts] for text, parts in sorted(tokenizer.rules.items()) if text.strip()
    }
    return english_words.Rules(*(search.__self__ for search in searches), exceptions)


def written(name: str, text: str) -> str:
    """A string as a Python assignment of several lines."""
    lines = [text[start : start + WIDTH] for start in range(0, len(text), WIDTH)]
    return f"{name} = (\n" + "".join(f"    {line!r}\n" for line in lines) + ")\n"


def module() -> str:
    """The module's text."""
    import spacy
    from spacy.lang import char_classes

    found = rules_of_spacy()
    classes = {name: getattr(char_classes, name) for name in CLASSES}
    parts = [HEADER.format(version=spacy.__version__)]
    for name, pattern in zip(("PREFIX", "SUFFIX", "INFIX", "URL"), found[:4], strict=True):
        text = pattern.pattern
        for label, letters in sorted(classes.items(), key=lambda item: -len(item[1])):
            text = text.replace(letters, f"<{label.strip('_').upper()}>")
        parts.append(written(name, text))
    named = {label.strip("_").upper(): letters for label, letters in classes.items()}
    parts.append("CLASSES = {}\n" + "".join(f'CLASSES["{n}"] = ' + written("", t)[3:] for n, t in named.items()))
    parts.append(written("EXCEPTIONS", "  ".join(" ".join(cut) for cut in found.exceptions.values())))
    return "".join(parts)


def main() -> int:
    """The command line. Returns the exit code."""
    TARGET.write_text(module(), encoding="utf-8")
    print(f"{TARGET}: {len(TARGET.read_text(encoding='utf-8').splitlines())} lines")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
