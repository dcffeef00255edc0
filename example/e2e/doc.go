// Package e2e tests the module from outside, with what the module itself must
// not depend on: real OAuth clients, other routers, PostgreSQL drivers, and a
// program by somebody else under testdata/thirdparty. It is a module of its own,
// so that nothing it needs reaches a host, and it is never released. One command
// is in it: onpostgres, the application of the example on PostgreSQL.
package e2e
