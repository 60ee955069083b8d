# pip install openai; python chat.py "Which tent is light enough for a long walk?"
import os
import sys

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("PARLEY_URL", "http://127.0.0.1:8080") + "/v1",
    api_key=f"{os.environ['PARLEY_PUBLISHABLE_KEY']}:{os.environ['PARLEY_SECRET_KEY']}",
    default_headers={"x-error-format": "openai"},  # so that the SDK shows our error messages
)

stream = client.chat.completions.create(
    model=os.environ.get("PARLEY_MODEL", "parley-small"),
    messages=[{"role": "user", "content": sys.argv[1] if len(sys.argv) > 1 else "Say hello."}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
print()
