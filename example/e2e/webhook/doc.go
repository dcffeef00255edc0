// Package webhook tests deliveries with receivers as others write them, and
// with processes that are killed.
package webhook
