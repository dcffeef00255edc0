// Package failover kills the primary of a PostgreSQL cluster under load, promotes
// its standby with the commands of the guide to stores, and looks for changes that
// were acknowledged and are lost. -rounds sets how often. With -patroni, it also runs
// a cluster with Patroni and etcd.
package failover
