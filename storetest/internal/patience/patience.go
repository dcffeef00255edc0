// Package patience holds a limit of storetest that the tests of its mutants lower.
package patience

import "time"

// Answer is how long a store may take for something that a rule says must happen.
var Answer = 10 * time.Second
