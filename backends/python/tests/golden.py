"""Makes golden_gpt2.json: the logits of the model that `cachet_adapter check` writes, as Hugging Face transformers computes
them in float64, without a cache. Run it with torch and transformers installed: python tests/golden.py > tests/golden_gpt2.json"""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from cachet_adapter.check import write_model  # noqa: E402

TOKENS = [3, 1, 2, 7, 7, 0, 4]


def main():
    import torch
    import transformers

    with tempfile.TemporaryDirectory() as directory:
        write_model(directory)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            directory, dtype=torch.float64, attn_implementation="eager"
        ).eval()
        with torch.no_grad():
            rows = model(torch.tensor([TOKENS]), use_cache=False).logits[0].tolist()
    made_by = f"transformers {transformers.__version__}, torch {torch.__version__}, float64"
    print(json.dumps({"made by": made_by, "tokens": TOKENS, "logits": rows}, indent=1))


if __name__ == "__main__":
    main()
