// Package webhook tests deliveries with receivers that use third-party libraries,
// and with processes that are killed.
package webhook
