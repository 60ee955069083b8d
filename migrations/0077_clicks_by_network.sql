-- Who followed what in the ten minutes before is asked by the network alone: functions/clicks_before.sql says why.
create index clicks_by_network on clicks (network_tag, project_id, id);
drop index clicks_of_network;
