-- Whose domain an advertiser's is, it proves as publishers do: by a TXT record or a file. Until now operators found it out, so
-- of those that are there they have vouched for.
alter table advertisers
  -- 122 bits: public once it stands in the DNS, but nobody can put it there before.
  add column domain_token text not null default replace(gen_random_uuid()::text, '-', '') check (length(domain_token) between 32 and 64),
  add column domain_verified_at timestamptz,
  add column domain_proven_by text check (domain_proven_by in ('dns', 'file', 'operator')),
  add constraint a_proof_has_a_time check ((domain_verified_at is null) = (domain_proven_by is null));
update advertisers set domain_verified_at = created_at, domain_proven_by = 'operator';

grant update (domain_verified_at, domain_proven_by) on advertisers to parley_advertiser;
