//go:build !windows && !darwin

package program

import "os"

// thisMachine is the machine that the program runs on.
func thisMachine() machine {
	nothing := func() string { return "" }
	return machine{
		readFile: func(path string) string {
			text, _ := os.ReadFile(path)
			return string(text)
		},
		registry: nothing, ioreg: nothing,
	}
}
