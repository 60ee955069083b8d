-- From here on the body of a function is in functions/, one file for each, and comes after the migrations. A migration only
-- drops what its file cannot replace: a function that is gone, or that takes or answers something else now.

-- A name has one function. Its file takes the publisher alone as well, which consoles from before 0017 send.
drop function grant_trial_credit(uuid);
