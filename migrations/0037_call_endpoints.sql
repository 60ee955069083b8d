-- Which endpoint a call was made at. Null: at the chat endpoint, before there was another one.
alter table calls
  add column endpoint text;

-- As it is held: what a dead gateway leaves says where it was asked, too. Null: held by a gateway of the version before.
alter table holds
  add column endpoint text;
