package dashboard_test

import (
	"bytes"
	"fmt"
	"html"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// upload submits a form with a file, or with a value if there is no file, and more fields.
func (v *visitor) upload(page, field, value string, file bool, more ...string) reply {
	v.s.t.Helper()
	is := is.New(v.s.t)
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if file {
		part, err := w.CreateFormFile(field, "licenses.csv")
		is.NoErr(err)
		_, err = part.Write([]byte(value))
		is.NoErr(err)
	} else {
		is.NoErr(w.WriteField(field, value))
	}
	for i := 0; i < len(more); i += 2 {
		is.NoErr(w.WriteField(more[i], more[i+1]))
	}
	is.NoErr(w.Close())
	req, err := http.NewRequestWithContext(v.s.t.Context(), http.MethodPost, v.s.base+"/dashboard/"+page, &b)
	is.NoErr(err)
	req.Header.Set("Content-Type", w.FormDataContentType())
	return v.do(req)
}

func (s *site) count() int {
	s.t.Helper()
	n := 0
	for _, err := range s.Service().All(s.t.Context(), api.ListLicensesParams{}) {
		is.New(s.t).NoErr(err)
		n++
	}
	return n
}

func TestImportCSV(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	require.Contains(t, v.get("licenses/import").body, `enctype="multipart/form-data"`)
	var file strings.Builder
	file.WriteString("\ufeffname,product_id,customer_id,expires_at\r\n")
	for i := range 25 {
		fmt.Fprintf(&file, "Zoë %d,atlas,cus_1,2027-01-31\r\n", i)
	}
	a := v.upload("licenses/import", "file", file.String(), true)
	is.Equal(a.StatusCode, http.StatusOK)
	require.Contains(t, a.body, "25 licenses will be created.", "Zoë 9")
	require.NotContains(t, a.body, "Zoë 10")
	require.Contains(t, a.body, "And 15 more.", "31 Jan 2027")
	is.Equal(s.count(), 0) // nothing is written before the confirmation

	lines := html.UnescapeString(a.hidden("lines"))
	a = v.upload("licenses/import/run", "lines", lines, false)
	is.Equal(a.StatusCode, http.StatusOK)
	require.Contains(t, a.body, "25 licenses created.")
	is.Equal(s.count(), 25)
	a = v.upload("licenses/import/run", "lines", lines, false) // a repeated form
	require.Contains(t, a.body, "0 licenses created.", "25 licenses existed already")
	is.Equal(s.count(), 25)

	export := v.get("licenses.csv")
	a = v.upload("licenses/import", "file", export.body, true)
	require.Contains(t, a.body, "Nothing to import.")
	is.Equal(a.hidden("lines"), "")
}

func TestImportCSVWithFaults(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	a := v.upload("licenses/import", "file", "name,product_id,customer_id,max_activations\nAda,atlas,cus_1,many\nBob,,cus_1,2\nEve,atlas,cus_1,3\n", true)
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, a.body, "2 rows cannot be imported.")
	require.Contains(t, a.body, "Import the valid rows: 1 license</button>", "Download the bad rows</button>")
	bad := v.upload("licenses/import/refused", "bad", html.UnescapeString(a.hidden("bad")), false)
	require.Contains(t, bad.Header.Get("Content-Disposition"), "refused-rows-")
	require.Contains(t, bad.body, "name,product_id,customer_id,max_activations,error\r\n", "Ada,atlas,cus_1,many,max_activations must be", "Bob,,cus_1,2,product_id ")
	require.NotContains(t, bad.body, "Eve")
	require.Contains(t, a.body, `rowheader">Row 2</th>
<td role="cell" data-label="Column"><div><code>max_activations</code>`)
	require.Contains(t, a.body, `rowheader">Row 3</th>
<td role="cell" data-label="Column"><div><code>product_id</code>`)

	for text, want := range map[string]string{
		"name,expires at\n": "Correct the header: “expires at” may be meant as expires_at, product_id is missing, customer_id is missing.",
		"name,product_id,customer_id\n" + strings.Repeat("x", 16<<20): "larger than 16 MiB",
		"": "Choose a CSV file.",
		"name,product_id,customer_id,metadata\nAda,atlas,cus_1,email=a@b.example\n": "Must be an object of strings, such as {",
	} {
		a := v.upload("licenses/import", "file", text, text != "")
		is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
		require.Contains(t, a.body, want) // want
	}
	is.Equal(v.upload("licenses/import", "file", strings.Repeat("x", 20<<20+100<<10), true).StatusCode, http.StatusRequestEntityTooLarge)
	is.Equal(v.upload("licenses/import/run", "lines", "not base64", false).StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.post("licenses/import", "file", "x").StatusCode, http.StatusUnsupportedMediaType)
	is.Equal(s.count(), 0)
	packed := html.UnescapeString(a.hidden("bad"))
	done := v.upload("licenses/import/run", "lines", html.UnescapeString(a.hidden("lines")), false, "bad", packed)
	require.Contains(t, done.body, "1 license created.", "The rows with errors have not been imported.", "Download the bad rows</button>")
	is.Equal(html.UnescapeString(done.hidden("bad")), packed)
	is.Equal(s.count(), 1)
	l := s.license(api.CreateLicenseParams{Name: "Ida"})
	a = v.upload("licenses/import", "file", "name,product_id,customer_id,key\nIda,atlas,cus_1,"+l.Key+"\nBob,,cus_1,\n", true)
	is.True(a.hidden("bad") != "") // although nothing is left to import

	corrected := strings.NewReplacer(",many,", ",5,", "Bob,,", "Bob,atlas,").Replace(bad.body) // with the column "error"
	a = v.upload("licenses/import", "file", corrected, true)
	require.Contains(t, a.body, "2 licenses will be created.")
}

// TestImportCSVNamesAFaultOnce: rows with the same fault are named together.
func TestImportCSVNamesAFaultOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var rows strings.Builder
	rows.WriteString("name,product_id,customer_id,max_activations\n")
	for line := 2; line < 2000; line++ {
		product, seats := "atlas", "3"
		if line <= 1201 || line >= 1300 && line%2 == 0 {
			product = ""
		}
		if line == 1250 {
			seats = "many"
		}
		fmt.Fprintf(&rows, "Ada,%s,cus_1,%s\n", product, seats)
	}
	a := newSite(t).admin().upload("licenses/import", "file", rows.String(), true)
	is.Equal(strings.Count(a.body, `data-label="Column"`), 2)
	require.Contains(t, a.body, `>Rows 2–1201, 1300, 1302, 1304, 1306 and 346 more</th>`, `>Row 1250</th>`)
}

// TestImportOfAnExport: what Export wrote goes back in, 10,000 licenses and more.
func TestImportOfAnExport(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	from, to := newSite(t), newSite(t)
	var rows strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&rows, `{"key":"ABCDE-%08d-0123456789","name":"Atlas for the pilots of harbour %d","product_id":"atlas","customer_id":"cus_%d","expires_at":"2030-01-31T00:00:00Z","entitlements":{"projects":%d},"metadata":{"email":"pilot-%d@harbour.example"}}`+"\n", i, i, i/3, i, i)
	}
	is.NoErr(from.Service().Import(t.Context(), strings.NewReader(rows.String()), func(api.RowResult) error { return nil }))
	export := from.admin().get("licenses.csv").body
	require.Greater(t, len(export), 2<<20)
	v := to.admin()
	a := v.upload("licenses/import", "file", export, true)
	require.Contains(t, a.body, "10,000 licenses will be created.")
	a = v.upload("licenses/import/run", "lines", html.UnescapeString(a.hidden("lines")), false)
	require.Contains(t, a.body, "10,000 licenses created.")
	is.Equal(to.count(), 10_000)
}

// An import stops when its operator loses the access.
func TestImportCSVOfADemotedOperator(t *testing.T) {
	is := is.New(t)
	st := &feedStore{Store: memory.New()}
	s := newSiteOn(t, st, licensing.Options{})
	s.admin()
	eve, viewer := s.operator("eve@example.com", operator.RoleAdmin), operator.RoleViewer
	v := s.signedIn("eve@example.com")
	var file strings.Builder
	file.WriteString("name,product_id,customer_id\n")
	for i := range 2000 {
		fmt.Fprintf(&file, "Number %d,atlas,cus_%s\n", i, strings.Repeat("x", 200))
	}
	lines := html.UnescapeString(v.upload("licenses/import", "file", file.String(), true).hidden("lines"))
	st.onUpdate = func() {
		_, err := s.Operators().Update(t.Context(), operator.UpdateParams{ID: eve.ID, Role: &viewer})
		is.NoErr(err)
	}
	a := v.upload("licenses/import/run", "lines", lines, false)
	is.Equal(a.StatusCode, http.StatusForbidden)
	n := s.count()
	is.True(0 < n && n < 2000)
	is.True(a.says(fmt.Sprintf("The import stopped after %d rows. Your session has ended or your role has changed.", n)))
}

// TestImportCSVNamesOtherColumns: before anything is stored, the preview names the columns that
// become metadata. The file is one that licensekit move-in takes, too.
func TestImportCSVNamesOtherColumns(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	a := v.upload("licenses/import", "file", "key,name,product_id,customer_id,state,email,order no,vip\nOLD-KEY-0000-0001,Ada,atlas,c-1,active,ada@example.com,A17,yes\n", true)
	is.Equal(a.StatusCode, http.StatusOK)
	require.Contains(t, a.body, "No column of a license is called <code>order no</code>, <code>vip</code>. They become metadata.")
	is.Equal(s.count(), 0)
	require.Contains(t, v.upload("licenses/import/run", "lines", html.UnescapeString(a.hidden("lines")), false).body, "1 license created.")
	list, err := s.Service().List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(list.Data[0].Metadata, map[string]string{"order no": "A17", "vip": "yes", "email": "ada@example.com"})
}

// TestLongImportShowsItsProgress: a request imports for ten seconds, says how far it came, and
// another one continues.
func TestLongImportShowsItsProgress(t *testing.T) {
	is := is.New(t)
	st := &feedStore{Store: memory.New()}
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	var file strings.Builder
	file.WriteString("name,product_id,customer_id\n")
	for i := range 2000 {
		fmt.Fprintf(&file, "Number %d,atlas,cus_%s\n", i, strings.Repeat("x", 200))
	}
	a := v.upload("licenses/import", "file", file.String(), true)
	for n := 0; ; n++ {
		st.onUpdate = func() { s.advance(11 * time.Second) }
		a = v.upload("licenses/import/run", "lines", html.UnescapeString(a.hidden("lines")), false)
		is.Equal(a.StatusCode, http.StatusOK)
		if !a.says(">Continue</button>") {
			is.True(n > 0)
			break
		}
		is.True(0 < s.count() && n < 20)
		require.Contains(t, a.body, " rows imported so far.")
	}
	require.Contains(t, a.body, "existed already")
	is.Equal(s.count(), 2000)
}
