-- Every batch asks whether a publisher owes anything. Of one with very many projects, all wallets were read for that.
create index wallets_owing on wallets (project_id) where owed_nanos > 0;
