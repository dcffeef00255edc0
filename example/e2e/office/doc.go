// Package office runs the office of example/licensekit, and programs in processes of their
// own, which are killed while they hold seats. These are the long forms; the second needs
// root, because it makes network namespaces:
//
//	go test ./office -run 'TestKills$' -long 10m -timeout 20m
//	go test ./office -run 'TestQuarter$' -namespaces
package office
