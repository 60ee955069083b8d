-- Conversations: the caller's own id, scoped to its project. Only messages not seen before are added.

create table conversations (
  project_id uuid not null references projects,
  id text not null check (id ~ '^[A-Za-z0-9._:-]{1,128}$'),
  created_at timestamptz not null default now(),
  last_call_at timestamptz not null default now(),
  calls int not null default 0,
  -- A deleted conversation keeps its id, and nothing else, so that the id answers 404 from then on.
  deleted_at timestamptz,
  primary key (project_id, id)
);

-- A message is "seen" when the same role and text occurred as often before: the key makes adding it again a no-op, so
-- that concurrent and repeated requests need no lock and no read. The digest is keyed: without the server's secret it
-- cannot be used to guess what was said.
create table messages (
  project_id uuid not null,
  conversation_id text not null,
  digest bytea not null check (length(digest) = 16),
  occurrence int not null check (occurrence > 0),
  seq int8 generated always as identity,
  role text not null,
  content json, -- null: the project keeps no text, or its retention has passed
  call_id uuid not null,
  created_at timestamptz not null default now(),
  content_expires_at timestamptz,
  primary key (project_id, conversation_id, digest, occurrence),
  foreign key (project_id, conversation_id) references conversations on delete cascade
);
create index messages_in_order on messages (project_id, conversation_id, seq);
create index messages_expiring on messages (content_expires_at) where content is not null;
