// Package hashcost holds the cost of new password hashes, which tests lower.
package hashcost

// A Cost holds the cost parameters of argon2id: KiB of memory, passes over it,
// and lanes.
type Cost struct {
	Memory, Time uint32
	Threads      uint8
}

// Current is the cost of new hashes: the minimum in the OWASP Password Storage
// Cheat Sheet. A hash with a lower cost is replaced at the next sign-in.
var Current = Cost{Memory: 19456, Time: 2, Threads: 1}

// ForTests lowers Current for the rest of the process.
func ForTests() { Current = Cost{Memory: 64, Time: 1, Threads: 1} }
