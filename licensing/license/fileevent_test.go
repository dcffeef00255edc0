package license_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// TestRepeatedFilesAppendNoEvent: a program that asks for short files again and
// again writes the hold of its seat, and one event.
func TestRepeatedFilesAppendNoEvent(t *testing.T) {
	for name, edit := range map[string]func(*license.CreateParams){
		"of an activation":      limited,
		"without an activation": func(*license.CreateParams) {},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t, edit)
			ask := license.IssueFileParams{Key: l.Key, Lifetime: license.Duration{Minutes: 1}}
			if l.MaxActivations != nil {
				ask.Fingerprint = "a"
			}
			issued := func() (n int) {
				t.Helper()
				f.now = f.now.Add(time.Minute)
				ask.Nonce += "n"
				file, err := f.IssueFile(t.Context(), ask)
				is.NoErr(err)
				is.Equal(file.ExpiresAt, f.now.Add(time.Minute))
				for _, e := range f.events(t, l.ID) {
					if e == license.EventFileIssued {
						n++
					}
				}
				return n
			}
			is.Equal(issued(), 1)
			is.Equal(issued(), 1)
			if ask.Fingerprint != "" {
				until, err := inner.Of(f.Service).FilesUntil(t.Context(), l.ID)
				is.NoErr(err)
				is.True(until.After(f.now.Add(time.Minute))) // the hold was written nevertheless
			}
			_, err := f.Update(t.Context(), license.UpdateParams{ID: l.ID, Entitlements: license.To(map[string]any{"export": true})})
			is.NoErr(err)
			is.Equal(issued(), 2)
			is.Equal(issued(), 2)
			_, err = f.VoidFiles(t.Context(), license.MoveParams{ID: l.ID})
			is.NoErr(err)
			is.Equal(issued(), 3)
			is.Equal(issued(), 3)
		})
	}
}
