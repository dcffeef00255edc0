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

// A host copies its store every night while it serves, and puts a copy in place of a lost
// file.
func ExampleStore_Backup() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx, backup, restored := context.Background(), filepath.Join(folder, "backup.db"), filepath.Join(folder, "restored.db")

	st, err := sqlite.Open(filepath.Join(folder, "licenses.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	err = st.Update(ctx, func(tx store.Tx) error {
		return tx.PutEntries(ctx, store.Entry{Kind: "note", Key: "1", Data: []byte("in the backup")})
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := st.Backup(ctx, backup); err != nil { // the file must not exist
		log.Fatal(err)
	}

	if err := sqlite.Restore(ctx, backup, restored); err != nil { // no process has restored open
		log.Fatal(err)
	}
	again, err := sqlite.Open(restored)
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	note, err := again.Entry(ctx, "note", "1")
	fmt.Println(string(note.Data), err)
	// Output: in the backup <nil>
}
