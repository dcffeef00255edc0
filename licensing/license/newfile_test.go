package license_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A fileChecker issues files of a license and checks them against the revocation
// lists of their products.
type fileChecker struct {
	*fixture
	t      *testing.T
	id     string
	issued []licensefile.Claims
}

// issue issues a file.
func (c *fileChecker) issue() licensefile.Claims {
	c.t.Helper()
	file, err := c.IssueFile(c.t.Context(), license.IssueFileParams{LicenseID: c.id, Lifetime: days14})
	if err != nil {
		c.t.Fatal(err)
	}
	c.issued = append(c.issued, *file.FileClaims())
	return *file.FileClaims()
}

// good reports whether a program that has the list of its product accepts a file.
func (c *fileChecker) good(claims licensefile.Claims) bool {
	c.t.Helper()
	all, err := inner.Of(c.Service).RevokedFiles(c.t.Context(), claims.ProductID, "")
	if err != nil {
		c.t.Fatal(err)
	}
	list := &licensefile.Revocations{ProductID: claims.ProductID, Licenses: all}
	return licensefile.File{Claims: claims}.Check(licensefile.Expect{ProductID: claims.ProductID, Now: c.now, Revocations: list}) == nil
}

// newIsGood issues a file and checks that it is good, and no earlier one.
func (c *fileChecker) newIsGood() {
	c.t.Helper()
	before := c.issued
	if f := c.issue(); !c.good(f) {
		c.t.Fatal("a new file of an active license is refused")
	}
	for i, f := range before {
		if c.good(f) {
			c.t.Fatalf("file %d is accepted", i)
		}
	}
}

// TestNewFilesAfterAReturn: a license moves to another product and back, with and
// without a suspension on the way.
func TestNewFilesAfterAReturn(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	c := &fileChecker{fixture: f, t: t, id: l.ID}
	do := func(_ license.License, err error) { t.Helper(); is.NoErr(err) }
	move := func(product string) {
		t.Helper()
		do(f.Update(t.Context(), license.UpdateParams{ID: l.ID, ProductID: &product}))
	}
	suspend := func() { t.Helper(); do(f.Suspend(t.Context(), license.MoveParams{ID: l.ID})) }
	reinstate := func() { t.Helper(); do(f.Reinstate(t.Context(), license.MoveParams{ID: l.ID})) }

	c.newIsGood()
	move("p2")
	c.newIsGood()
	move(l.ProductID)
	c.newIsGood()
	suspend()
	move("p2")
	reinstate()
	c.newIsGood()
	move(l.ProductID)
	c.newIsGood()
	suspend()
	move("p2")
	move(l.ProductID)
	is.True(!c.good(c.issued[len(c.issued)-1]))
	reinstate()
	c.newIsGood()
	move("p2")
	c.newIsGood()
}

// TestNewFilesAfterAnImport: a license is deleted and imported from an export of
// its present or of an earlier state, alone or among many others.
func TestNewFilesAfterAnImport(t *testing.T) {
	for _, others := range []int{0, 150} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t)
			c := &fileChecker{fixture: f, t: t, id: l.ID}
			c.newIsGood()
			row := func() []byte {
				t.Helper()
				var out bytes.Buffer
				is.NoErr(f.Export(t.Context(), &out, license.ListParams{}))
				return out.Bytes()
			}
			early := row()
			_, err := f.VoidFiles(t.Context(), license.MoveParams{ID: l.ID})
			is.NoErr(err)
			c.newIsGood()
			late := row()
			for i, exported := range [][]byte{late, early, late} {
				is.NoErr(f.Delete(t.Context(), license.DeleteParams{ID: l.ID}))
				lines := bytes.Clone(exported)
				for n := range others {
					line, err := json.Marshal(map[string]any{"key": fmt.Sprintf("OTHER-%d-%d", i, n), "name": "n", "product_id": "p", "customer_id": "c"})
					is.NoErr(err)
					lines = append(append(lines, line...), '\n')
				}
				is.Equal(f.importLines(t, lines)[0], license.ImportCreated)
				read, err := f.Get(t.Context(), l.ID)
				is.NoErr(err)
				created, err := f.store.Events(t.Context(), store.EventQuery{Subject: l.ID, Descending: true, Limit: 1})
				is.NoErr(err)
				is.Equal(eventData(t, created[0]).License.Generation, read.Generation)
				c.newIsGood()
			}
		})
	}
}

// TestImportAfterTheFiles: once the files have expired, an import changes nothing.
func TestImportAfterTheFiles(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	c := &fileChecker{fixture: f, t: t, id: l.ID}
	c.issue()
	var out bytes.Buffer
	is.NoErr(f.Export(t.Context(), &out, license.ListParams{}))
	is.NoErr(f.Delete(t.Context(), license.DeleteParams{ID: l.ID}))
	f.now = f.now.Add(16 * day)
	f.importLines(t, out.Bytes())
	read, err := f.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(read.Generation, int64(1))
	c.newIsGood()
}
