"""The parser's recipes: what Section 6.3 says, and a run of two updates at small sizes."""

import json
from pathlib import Path

import pytest

from hf_attention_zoo import get_architecture
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.tasks.parsing.parse_sentences import parse
from hf_attention_zoo.tasks.translation.evaluation import load_checkpoint

ROW = get_architecture("transformer2017")


def test_the_papers_parser_has_four_layers_of_1024_and_its_search() -> None:
    recipe = ROW.recipes["paper-parsing"]
    config = ROW.config_class(**recipe["config"], vocab_size=16_000, decoder_vocab_size=200)
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == (4, 1024, 8)
    assert recipe["tokenizer"]["vocab_size"] == 16_000
    assert recipe["generation"] == {"num_beams": 21, "gnmt_length_penalty": 0.3, "max_length_beyond_source": 300}


@pytest.mark.parametrize("recipe", ["paper-parsing", "parsing"])
def test_a_recipe_trains_a_parser_at_small_sizes(recipe: str, tmp_path: Path) -> None:
    assert main(["treebank", str(tmp_path / "trees"), "--generated", "40", "--max_words", "8"]) == 0
    sizes = ("--config.hidden_size", "8", "--config.intermediate_size", "8", "--config.num_hidden_layers", "1")
    steps = ("--max_steps", "2", "--eval_strategy", "steps", "--eval_steps", "1", "--save_strategy", "steps")
    flags = ("--save_steps", "1", "--use_cpu", "True", "--disable_tqdm", "True", "--report_to", "none")
    where = ("--dataset", str(tmp_path / "trees"), "--output_dir", str(tmp_path / "run"), "--recipe", recipe)
    assert main(["train", "transformer2017", *where, *sizes, *steps, *flags, "--tokenizer.vocab_size", "90"]) == 0
    facts = json.loads((tmp_path / "run" / "training.json").read_text())
    assert facts.get("averaged_checkpoints") == ([1, 2] if recipe == "paper-parsing" else None)
    model, tokenizer = load_checkpoint(tmp_path / "run")
    found = parse(model, tokenizer, ["the dog slept ."], num_beams=2, max_new_tokens=12)
    assert found[0].tree.words() == ["the", "dog", "slept", "."]
