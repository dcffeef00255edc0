// Package e2e tests the module from outside, with dependencies that the module
// itself must not have: real OAuth clients, other routers, PostgreSQL drivers,
// and a third-party program under testdata/thirdparty, which has a backend on
// MariaDB. It is a separate module, so its dependencies do not reach hosts, and it
// is never released. It contains the command commerce, which replays what payment
// providers report.
package e2e
