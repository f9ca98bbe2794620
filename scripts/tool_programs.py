"""Programs around models that are measured by numbers of their own, for `tool_matrix.py`.

Each function takes a head and a tiny model of it, runs the program, and gives how far the program's numbers are from
those of the model alone; None where the program is for other models. Run by two processes, this file measures what
they learn together:

    torchrun --nproc-per-node=2 scripts/tool_programs.py
"""

from __future__ import annotations

import functools
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "models")]  # tiny models and batches

from every_head import EVERY_HEAD, WIDTHS, RegisteredHead  # noqa: E402

from hf_attention_zoo import get_architecture  # noqa: E402

CARDS = ROOT / "model_cards"
TEXTS = {
    "AutoModelForSeq2SeqLM": ["Das ist ein Haus.", "Ja, das ist ein kleines Haus."],
    "AutoModelForCausalLM": ["this package contains", "the man of the house was"],
    "AutoModelForMaskedLM": ["This package contains the [MASK] files.", "A [MASK] library"],
}
SHORT = {"max_new_tokens": 4, "num_beams": 1, "do_sample": False}
PIPELINES = {
    "AutoModelForSeq2SeqLM": "translation",
    "AutoModelForCausalLM": "text-generation",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForSequenceClassification": "text-classification",
    "AutoModelForTokenClassification": "token-classification",
}


def head_of(model_type: str) -> RegisteredHead:
    """The head that stands for an architecture: the first that writes or classifies, or its body if none does."""
    passed = ("AutoModel", "AutoModelForPreTraining")
    heads = [head for head in EVERY_HEAD if head.model_type == model_type]
    return next((head for head in heads if head.auto not in passed), heads[0])


def published(model_type: str, autos: tuple[str, ...] = ()) -> tuple[Path, str] | None:
    """A published folder of an architecture and the Auto class of what lies in it, one of these if any are named."""
    names = {name: auto for auto, name in get_architecture(model_type).models.items()}
    for file in sorted(CARDS.glob("*/config.json")):
        config = json.loads(file.read_text(encoding="utf-8"))
        auto = names.get((config.get("architectures") or [""])[0])
        if config["model_type"] == model_type and auto is not None and (not autos or auto in autos):
            return file.parent, auto
    return None


def gap(found: Any, wanted: Any) -> float:
    """The largest difference of two tensors or two structures of numbers and words; other words are infinitely far."""
    if isinstance(found, dict):
        return max(gap(found[key], wanted[key]) for key in wanted)
    if isinstance(found, (list, tuple)):
        return max((gap(a, b) for a, b in zip(found, wanted, strict=True)), default=0.0)
    if isinstance(found, (int, float, Tensor)) or hasattr(found, "shape"):
        return (torch.as_tensor(found) - torch.as_tensor(wanted)).abs().max().item()
    return 0.0 if found == wanted else math.inf


def loss_of(model: Any, batch: dict[str, Tensor]) -> float:
    with torch.no_grad():
        return model(**batch).loss.item()


def trainer(head: RegisteredHead, model: Any) -> float | None:
    """transformers' Trainer: `eval_loss` before and after it trains, and the best model, which it loads."""
    from transformers import Trainer, TrainingArguments

    batches = [head.batch(lengths, seed=number) for number, lengths in enumerate(WIDTHS)]
    wanted = sum(loss_of(model, batch) for batch in batches) / len(batches)
    with tempfile.TemporaryDirectory() as folder:
        settings = {"remove_unused_columns": False, "report_to": [], "use_cpu": True, "disable_tqdm": True}
        settings |= {"per_device_train_batch_size": 1, "per_device_eval_batch_size": 1, "num_train_epochs": 2}
        settings |= {"eval_strategy": "epoch", "save_strategy": "epoch", "load_best_model_at_end": True}
        made = Trainer(
            model=model,
            args=TrainingArguments(folder, metric_for_best_model="loss", learning_rate=1e-2, **settings),
            train_dataset=batches,
            eval_dataset=batches,
            data_collator=lambda rows: rows[0],
        )
        before = made.evaluate()["eval_loss"]
        made.train()
        losses = [entry["eval_loss"] for entry in made.state.log_history if "eval_loss" in entry][1:]
        own = sum(loss_of(made.model.eval(), batch) for batch in batches) / len(batches)
        return gap([before, made.state.best_metric, own], [wanted, min(losses), min(losses)])


def neftune(head: RegisteredHead, model: Any) -> float | None:
    """Noise on embeddings (`neftune_noise_alpha`): seen in training, neither in evaluation nor afterwards."""
    from transformers.integrations.neftune import activate_neftune, deactivate_neftune

    given = head.batch()
    wanted = loss_of(model, given)
    hook = activate_neftune(model, 20.0)
    beside = loss_of(model, given)
    torch.manual_seed(0)
    noisy = loss_of(model.train(), given)
    deactivate_neftune(model, hook)
    torch.manual_seed(0)
    if noisy == loss_of(model, given):
        raise RuntimeError("noise changes nothing")
    return gap([beside, loss_of(model.eval(), given)], [wanted, wanted])


def two_processes(head: RegisteredHead, model: Any) -> float | None:
    """Accelerate with two processes (gloo): gradients are the mean of those of both batches."""
    return learnt_together()[head.model_type]


@functools.cache
def learnt_together() -> dict[str, float]:
    """Architecture -> how far the gradients of two processes are from those of one."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", __file__]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def gradients(model: Any) -> list[Tensor]:
    return [weight.grad if weight.grad is not None else torch.zeros(()) for weight in model.parameters()]


def measure_together() -> None:
    """What each of two processes does; the first prints what both learnt."""
    from accelerate import Accelerator, DistributedDataParallelKwargs

    accelerator = Accelerator(cpu=True, kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)])
    found = {}
    for model_type in dict.fromkeys(head.model_type for head in EVERY_HEAD):
        head = head_of(model_type)
        batches = [head.batch(lengths, seed=number) for number, lengths in enumerate(WIDTHS)]
        alone, model = head.model(), accelerator.prepare(head.model())
        (sum(alone(**batch).loss for batch in batches) / len(batches)).backward()
        accelerator.backward(model(**batches[accelerator.process_index]).loss)
        found[model_type] = gap(gradients(accelerator.unwrap_model(model)), gradients(alone))
    if accelerator.is_main_process:
        print(json.dumps(found), flush=True)
    accelerator.end_training()


def pipelines(head: RegisteredHead, model: Any) -> float | None:
    """transformers' pipeline on a published folder: two texts in a batch, and each alone."""
    import transformers

    place = published(head.model_type, (*PIPELINES,)) or published(head.model_type)
    if place is None:
        return None
    folder, auto = place
    if auto == "AutoModelForImageTextToText":
        made = transformers.pipeline("image-captioning", model=str(folder))
        pictures = [str(file) for file in sorted(CARDS.glob("show-attend-tell-*/example.png"))]
        return gap(made(pictures, batch_size=2), [made(picture) for picture in pictures])
    task = PIPELINES.get(auto, "feature-extraction")
    made, texts = transformers.pipeline(task, model=str(folder)), TEXTS.get(auto, TEXTS["AutoModelForCausalLM"])
    options = SHORT if task in ("translation", "text-generation") else {}
    together, alone = made(texts, batch_size=2, **options), [made(text, **options) for text in texts]
    if task == "feature-extraction":  # rows of a batch keep the places of their pads
        return gap([a[0][: len(b[0])] for a, b in zip(together, alone, strict=True)], [b[0] for b in alone])
    firsts = [b[0] if isinstance(a, dict) else b for a, b in zip(together, alone, strict=True)]
    return gap(together, firsts)


def sentence_transformers(head: RegisteredHead, model: Any) -> float | None:
    """Sentence Transformers on a published folder: vectors of two texts in a batch, and of each alone."""
    from sentence_transformers import SentenceTransformer

    place = published(head.model_type)
    if place is None or model.config.is_encoder_decoder:
        return None
    made, texts = SentenceTransformer(str(place[0])), TEXTS["AutoModelForCausalLM"]
    return gap(made.encode(texts), [made.encode([text])[0] for text in texts])


def inseq(head: RegisteredHead, model: Any) -> float | None:
    """`inseq.load_model` on a published folder that writes: probabilities of the words, under their own names."""
    import inseq

    place = published(head.model_type, ("AutoModelForSeq2SeqLM", "AutoModelForCausalLM"))
    if place is None:
        return None
    loaded, text = inseq.load_model(str(place[0]), "saliency"), TEXTS[place[1]][0]
    settings = {"generation_args": SHORT, "show_progress": False, "step_scores": ["probability"]}
    (shown,) = loaded.attribute(text, **settings).sequence_attributions
    ids, tokenizer = [token.id for token in shown.target], loaded.tokenizer
    given, name_of = {"input_ids": torch.tensor([ids[:-1]])}, tokenizer.convert_ids_to_tokens
    if loaded.is_encoder_decoder:
        given = {**tokenizer(text, return_tensors="pt"), "decoder_input_ids": given["input_ids"]}
        name_of = tokenizer.convert_target_ids_to_tokens
    with torch.no_grad():
        likely = loaded.model(**given).logits[0].softmax(-1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    found = shown.step_scores["probability"]
    return gap([found, [token.token for token in shown.target]], [likely[-len(found) :], name_of(ids)])


def trl(head: RegisteredHead, model: Any) -> float | None:
    """TRL on a published language model: the loss of SFT is its own, and the first loss of DPO is ln 2."""
    import trl
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = published(head.model_type, ("AutoModelForCausalLM",))
    if place is None:
        return None
    tokenizer, texts = AutoTokenizer.from_pretrained(place[0]), TEXTS["AutoModelForCausalLM"]
    tokenizer.eos_token = "_classify_" if "_classify_" in tokenizer.get_vocab() else tokenizer.pad_token
    pairs = {"prompt": texts, "chosen": [" for the library"] * 2, "rejected": [" of of of"] * 2}
    with tempfile.TemporaryDirectory() as folder:
        settings = {"output_dir": folder, "max_steps": 1, "per_device_train_batch_size": 2, "report_to": []}
        settings |= {"use_cpu": True, "bf16": False, "logging_steps": 1, "save_strategy": "no", "disable_tqdm": True}
        settings |= {"per_device_eval_batch_size": 1, "max_length": 32, "gradient_checkpointing": False}
        rows = Dataset.from_dict({"text": texts})
        common = {"model": AutoModelForCausalLM.from_pretrained(place[0]), "processing_class": tokenizer}
        sft = trl.SFTTrainer(args=trl.SFTConfig(**settings), train_dataset=rows, eval_dataset=rows, **common)
        read = [torch.tensor([row]) for row in sft.eval_dataset["input_ids"]]
        own = sum(loss_of(sft.model.eval(), {"input_ids": ids, "labels": ids}) for ids in read) / len(read)
        off = gap(sft.evaluate()["eval_loss"], own)
        dpo = trl.DPOTrainer(args=trl.DPOConfig(**settings), train_dataset=Dataset.from_dict(pairs), **common)
        dpo.train()
        return max(off, gap(dpo.state.log_history[0]["loss"], math.log(2)))


def bertviz(head: RegisteredHead, model: Any) -> float | None:
    """bertviz's view of heads holds the weights that the model gives out."""
    from bertviz import head_view

    place = get_architecture(head.model_type).aligner and ("cross_attentions", "attentions")
    batch = {name: tensor[:1] for name, tensor in head.batch().items()}
    with torch.no_grad():
        made = model(**batch, output_attentions=True) if place else {}
    weights = next((made[name] for name in place or () if made.get(name) is not None), None)
    if weights is None or not isinstance(weights, tuple) or weights[0].ndim != 4:
        return None  # no attention of heads, words by words
    targets, sources = weights[0].shape[2:]
    words = [f"w{number}" for number in range(max(targets, sources))]
    if made.get("cross_attentions") is None:
        if targets != sources:
            return None
        given = {"attention": weights, "tokens": words}
    else:
        sides = {"encoder_tokens": words[:sources], "decoder_tokens": words[:targets]}
        given = {"cross_attention": weights, **sides}
    page = head_view(**given, html_action="return").data
    shown, _ = json.JSONDecoder().raw_decode(page[page.index('{"attention"') :])
    return gap([torch.tensor(layer) for layer in shown["attention"][0]["attn"]], [layer[0] for layer in weights])


def captum(head: RegisteredHead, model: Any) -> float | None:
    """Captum's LayerGradientXActivation on the input embeddings: gradient times vector, as autograd gives them."""
    from captum.attr import LayerGradientXActivation

    batch, table = head.batch(), model.requires_grad_(True).get_input_embeddings()
    name, *_ = batch

    def score(tensor: Tensor) -> Tensor:
        outputs = model(**{**batch, name: tensor})
        return outputs.loss.reshape(1)

    kept: list[Tensor] = []
    with table.register_forward_hook(lambda module, inputs, made: kept.append(made)):
        wanted = torch.autograd.grad(score(batch[name]), kept)
    found = LayerGradientXActivation(score, table).attribute(batch[name])
    found = found if isinstance(found, tuple) else (found,)
    return gap([*found], [gradient * made for gradient, made in zip(wanted, kept, strict=True)])


PROGRAMS: dict[str, Callable[[RegisteredHead, Any], float | None]] = {
    "Trainer": trainer,
    "NEFTune": neftune,
    "two processes": two_processes,
    "pipelines": pipelines,
    "Sentence Transformers": sentence_transformers,
    "inseq": inseq,
    "TRL": trl,
    "bertviz": bertviz,
    "captum": captum,
}


if __name__ == "__main__":
    measure_together()
