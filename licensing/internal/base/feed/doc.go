/*
Package feed runs the background work of a handler and keeps the positions of
consumers of the event feed. Handler.Run runs it.

A consumer reads the feed after a stored cursor and moves the cursor when it
has handled the events, so it misses none, however many processes run and
wherever one is killed. Subscribers process the feed one event after another,
each from its own cursor, in one process at a time: the one that holds the
subscriber's lease. The lease and the failures on the next event are stored with
the cursor, in one record, and change together. Other packages contribute tasks as a [Background].

One scheduler in each call of Run starts the steps of all tasks when they are
due. Once per poll interval it reads the newest event, and wakes the tasks that
read the feed when it has changed; an Update of the same process that appends an
event wakes them immediately. What is overdue follows from the positions of the
tasks, so no process records that it runs.

[Retention] removes events that every consumer has received. A [Place] is a
position in the feed that recognizes a restored backup.
*/
package feed
