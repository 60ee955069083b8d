-- A gateway reads no large body for a wallet that is empty, so it must be able to see that it is.
grant select (project_id, balance_nanos) on wallets to parley_gateway;
