//go:build !race

package storetest

const racing = false
