package store_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// This example moves all data from one backend to another.
func ExampleImport() {
	ctx := context.Background()
	from, to := memory.New(), memory.New()
	from.Update(ctx, func(tx store.Tx) error {
		return tx.CreateLicenses(ctx, store.License{ID: "lic_1", Key: "key"})
	})

	var archive bytes.Buffer
	err := from.View(ctx, func(r store.Reader) error { return store.Export(ctx, r, &archive) })
	if err == nil {
		err = store.Import(ctx, to, &archive)
	}
	l, _ := to.LicenseByKey(ctx, "key")
	fmt.Println(l.ID, err)
	// Output: lic_1 <nil>
}
