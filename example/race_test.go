//go:build race

package main

// The race detector keeps memory of its own for the memory of the program.
const raceDetector = true
