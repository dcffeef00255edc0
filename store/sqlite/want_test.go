package sqlite

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

// TestWantIsAskedOnceAGroup: what an update has learned of absent entries holds for the
// next ones of its group until one adds such an entry or is undone.
func TestWantIsAskedOnceAGroup(t *testing.T) {
	is := is.New(t)
	st, err := Open(filepath.Join(t.TempDir(), "test.db"))
	is.NoErr(err)
	defer st.Close()
	ctx, hold := t.Context(), store.Entry{Kind: "hold", Key: "a"}
	undo := errors.New("undo")
	var saw []string
	looks := func(then func(tx store.Tx) error) *member {
		return &member{fn: func(tx store.Tx) error {
			if err := tx.Want(ctx, store.Wanted{Absent: [][2]string{{"hold", "a"}, {"hold", "b"}}}); err != nil {
				return err
			}
			_, err := tx.Entry(ctx, "hold", "a")
			switch {
			case err == nil:
				saw = append(saw, "there")
			case errors.Is(err, store.ErrNotFound):
				saw = append(saw, "none")
			default:
				return err
			}
			return then(tx)
		}}
	}
	nothing := func(store.Tx) error { return nil }
	puts := func(tx store.Tx) error { return tx.PutEntries(ctx, hold) }
	deletes := func(tx store.Tx) error { return tx.DeleteEntries(ctx, "hold", "a") }
	undone := func(fn func(store.Tx) error) func(store.Tx) error {
		return func(tx store.Tx) error {
			if err := fn(tx); err != nil {
				return err
			}
			return undo
		}
	}
	emptied := func(tx store.Tx) error { // then asks, and is undone
		if err := deletes(tx); err != nil {
			return err
		}
		return looks(undone(nothing)).fn(tx)
	}

	ran := 0
	st.count(t, &ran)
	runGroup(t, st, looks(nothing), looks(nothing), looks(nothing))
	is.Equal(saw, []string{"none", "none", "none"})
	asked := ran
	ran, saw = 0, nil
	runGroup(t, st, looks(nothing))
	is.Equal(asked-ran, 2*2) // two savepoints that begin and end

	for _, tt := range []struct {
		name    string
		members []*member
		saw     []string
	}{
		{"undone put", []*member{looks(undone(puts)), looks(nothing)}, []string{"none", "none"}},
		{"put", []*member{looks(puts), looks(nothing), looks(nothing)}, []string{"none", "there", "there"}},
		{"undone delete", []*member{{fn: emptied}, looks(nothing)}, []string{"none", "there"}},
		{"delete", []*member{looks(deletes), looks(nothing), looks(puts), looks(nothing)}, []string{"there", "none", "none", "there"}},
	} {
		saw = nil
		runGroup(t, st, tt.members...)
		if !slices.Equal(saw, tt.saw) {
			t.Errorf("%s: saw %v, want %v", tt.name, saw, tt.saw)
		}
		for _, m := range tt.members {
			if m.err != nil && m.err != undo {
				t.Errorf("%s: %v", tt.name, m.err)
			}
			if m.group != tt.members[0].group {
				t.Errorf("%s: not in one group", tt.name)
			}
		}
	}
}
