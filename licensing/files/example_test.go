package files_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A host rotates the key that signs license files. Programs embed both keys from the first
// day, and the next one signs after they have had time to learn it.
func Example() {
	ctx := context.Background()
	keys := licensing.NewHandler(memory.New(), licensing.Options{}).Files()
	if _, err := keys.KeySet(ctx); err != nil { // makes the first two keys
		log.Fatal(err)
	}
	_, err := keys.RotateKey(ctx, files.RotateKeyParams{})
	fmt.Println(errors.Is(err, files.ErrKeyTooNew))
	if _, err := keys.RotateKey(ctx, files.RotateKeyParams{Force: true}); err != nil { // no program has been shipped yet
		log.Fatal(err)
	}
	all, err := keys.Keys(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, k := range all {
		fmt.Println(k.State)
	}
	// Unordered output:
	// true
	// next
	// active
	// verify
}
