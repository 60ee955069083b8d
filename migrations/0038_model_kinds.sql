-- What a model makes: text for chats, or vectors of texts. Gateways of the version before take every model for one of chats; a
-- chat with one that makes vectors is refused by its provider, and costs nothing.
alter table models
  add column kind text not null default 'chat' check (kind in ('chat', 'embedding'));
