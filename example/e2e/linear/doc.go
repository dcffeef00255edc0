// Package linear checks that the API is linearizable: two services on one store
// answer as one that handles requests one after another. Clients send requests
// about a few licenses to both, cancel some, repeat some with their
// Idempotency-Key, and porcupine searches for an order of all requests of a
// license, each between its call and its answer, in which the model gives the
// same answers. A request without an answer may take effect at any time after its
// call, or never.
//
// The services are two handlers, or two processes of which one is killed in each
// round and started again. The short form runs with the other tests. The long form
// runs for a given time on SQLite and on PostgreSQL:
//
//	go test ./linear -run TestKills -long 10m -timeout 20m
//
// The model has licenses, seats and stored replies. It has no leases, differing
// clocks, renewals, plans, purchases or trials, and no process is paused.
package linear
