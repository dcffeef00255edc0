// Package license is the rules of licensing.
package license
