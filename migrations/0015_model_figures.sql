-- What a prompt's images, files and tools come to, and how much a model thinks unseen: per model, because they differ by a
-- factor of a hundred. Holds are sized with them, and a provider's report is judged by them. Null: not stated.

alter table models
  -- The most that one image of a prompt comes to.
  add column image_tokens int check (image_tokens between 0 and 10000000),
  -- The most that one file of a prompt comes to.
  add column file_tokens int check (file_tokens between 0 and 10000000),
  -- What one tool adds beyond the text of its definition.
  add column tool_tokens int check (tool_tokens between 0 and 10000000),
  -- The most that the model thinks without showing it. 0: it does not reason.
  add column reasoning_tokens int check (reasoning_tokens between 0 and 10000000);
