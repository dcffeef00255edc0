-- A process of the first release that has the file open does not notice that it
-- was migrated. Under new names, it finds neither table: otherwise it could still
-- write tokens and sessions, and delete events.
ALTER TABLE event RENAME TO events;
ALTER TABLE entry RENAME TO entries;
