// Package alerts tests the rules for Prometheus in licensing/docs with promtool.
package alerts
