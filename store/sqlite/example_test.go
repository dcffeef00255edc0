package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

func ExampleOpen() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	st, err := sqlite.Open(filepath.Join(folder, "licenses.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()

	ctx := context.Background()
	err = st.Update(ctx, func(tx store.Tx) error {
		return tx.PutEntries(ctx, store.Entry{Kind: "note", Key: "1", Data: []byte("kept in one file")})
	})
	if err != nil {
		log.Fatal(err)
	}
	note, err := st.Entry(ctx, "note", "1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(note.Data))
	// Output: kept in one file
}
