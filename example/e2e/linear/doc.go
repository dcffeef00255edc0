// Package linear checks that the API is linearizable: two services on one store
// answer as one that handles requests one after another. Clients send requests
// about a few licenses, plans, purchases, trials and batches to both, cancel some, repeat
// some with their Idempotency-Key, and porcupine searches for an order of all
// requests about a subject, each between its call and its answer, in which the
// model gives the same answers. A request without an answer may take effect at any
// time after its call, or never.
//
// The clock of one service is 30 seconds slow and that of the other 30 seconds
// fast, and both run a thousand times as fast as time, so that leases end. To the
// model, a lease ends between two instants, and until the later one has passed a
// service may see it live or ended.
//
// The services are two handlers, or two processes of which one is killed and
// started again, or stopped for a while, in each round. The short form runs with
// the other tests. The long form runs for a given time on SQLite and on PostgreSQL:
//
//	go test ./linear -run TestKills -long 10m -timeout 20m
package linear
