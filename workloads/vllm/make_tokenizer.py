"""Makes the tokenizer of the small random model: byte-level BPE, learnt from Python's own sources.

Every id of the model's vocabulary has a text, so that a random model's answers have one. Nothing is
downloaded. Usage: make_tokenizer.py FOLDER
"""

import sys
import sysconfig
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END = "<|end|>"
VOCABULARY = 16000

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=VOCABULARY,
    special_tokens=[END],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
)
sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
tokenizer.train([str(source) for source in sources], trainer)
if tokenizer.get_vocab_size() != VOCABULARY:
    sys.exit(f"only {tokenizer.get_vocab_size()} tokens were learnt from {len(sources)} files")
PreTrainedTokenizerFast(
    tokenizer_object=tokenizer,
    bos_token=END,
    eos_token=END,
    unk_token=END,
    model_max_length=4096,
    chat_template="{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: ",
).save_pretrained(sys.argv[1])
