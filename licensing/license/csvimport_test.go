package license_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// importLines imports the rows of a preview and returns the results.
func (f *fixture) importLines(t *testing.T, ndjson []byte) (results []string) {
	t.Helper()
	is.New(t).NoErr(f.Import(t.Context(), bytes.NewReader(ndjson), func(r api.RowResult) error {
		results = append(results, r.Result)
		return nil
	}))
	return results
}

func TestExportedCSVCanBeImported(t *testing.T) {
	is := is.New(t)
	from, to := newFixture(t), newFixture(t)
	from.now = start.Add(678 * time.Millisecond)
	end, seats, day := from.now.AddDate(1, 0, 0), int64(5), int64(86400)
	from.create(t, func(p *api.CreateLicenseParams) {
		p.Name, p.ExpiresAt, p.MaxActivations, p.GraceSeconds = "=Zoë; -1", &end, &seats, 60
		p.Entitlements = map[string]any{"export": true, "projects": 3.5, "tier": "=gold"}
		p.Metadata = map[string]string{"order": "+7, \"x\"", "empty": ""}
	})
	revoked := from.create(t, func(p *api.CreateLicenseParams) { p.Key = "OLD-SYSTEM-KEY-000001" })
	_, err := from.Revoke(t.Context(), api.ChangeStateParams{ID: revoked.ID, Reason: "Refund"})
	is.NoErr(err)
	offline := from.create(t, func(p *api.CreateLicenseParams) { p.OfflineSeconds = &day })
	_, err = from.VoidFiles(t.Context(), api.ChangeStateParams{ID: offline.ID})
	is.NoErr(err)
	var out bytes.Buffer
	is.NoErr(inner.Of(from.Service).MoveIn().ExportCSV(t.Context(), &out, api.ListLicensesParams{}))

	p, err := inner.Of(to.Service).MoveIn().PreviewCSV(t.Context(), out.Bytes())
	is.NoErr(err)
	is.Equal(len(to.events(t, "")), 0)
	is.Equal(to.importLines(t, p.NDJSON), []string{"created", "created", "created"})
	want, err := from.List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	got, err := to.List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	for i := range want.Data {
		want.Data[i].Revision, want.Data[i].UpdatedAt = got.Data[i].Revision, got.Data[i].UpdatedAt
	}
	is.Equal(got.Data, want.Data)

	p, err = inner.Of(to.Service).MoveIn().PreviewCSV(t.Context(), out.Bytes())
	is.NoErr(err)
	is.Equal([]string{p.Results[0].Result, p.Results[2].Result}, []string{"exists", "exists"})
}

// TestEveryTextSurvivesCSV exports licenses with random texts and imports them
// into another store.
func TestEveryTextSurvivesCSV(t *testing.T) {
	is := is.New(t)
	from, to := newFixture(t), newFixture(t)
	alphabet := []rune("=+-@＝＋－＠'''';; \"\",aé1\u2028")
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		s := make([]rune, 1+random.IntN(12))
		for i := range s {
			s[i] = alphabet[random.IntN(len(alphabet))]
		}
		return cmp.Or(strings.TrimSpace(string(s)), "'=1")
	}
	for i := range 500 {
		p := api.CreateLicenseParams{Name: text(), ProductID: text(), CustomerID: text(), Metadata: map[string]string{text(): text()}, Terms: api.Terms{Entitlements: map[string]any{"tier": text()}}}
		p.Key = []string{"=", "'=", "'-x;'", "A"}[i%4] + fmt.Sprintf("-1234567890123456-%d", i) // visible ASCII
		l, err := from.Create(t.Context(), p)
		is.NoErr(err)
		if i%2 == 0 {
			_, err = from.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: p.Name})
			is.NoErr(err)
		}
	}
	var out bytes.Buffer
	is.NoErr(inner.Of(from.Service).MoveIn().ExportCSV(t.Context(), &out, api.ListLicensesParams{}))
	p, err := inner.Of(to.Service).MoveIn().PreviewCSV(t.Context(), out.Bytes())
	is.NoErr(err)
	to.importLines(t, p.NDJSON)
	n := 0
	for want, err := range from.All(t.Context(), api.ListLicensesParams{}) {
		is.NoErr(err)
		got, err := to.Get(t.Context(), want.ID)
		is.NoErr(err)
		want.Revision, want.UpdatedAt = got.Revision, got.UpdatedAt
		is.Equal(got, want)
		n++
	}
	is.Equal(n, 500)
}

// A row has the number that a spreadsheet shows, with empty lines and cells of
// several lines, in the preview and in the import.
func TestCSVRowsAreNumberedAsInASpreadsheet(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	file := "\n\r\nname;product_id;customer_id;max_activations;status_reason\r\n\r\n\nAda;atlas;cus_1;3;\n" + // row 6
		";;;;\n\nBob;atlas;cus_1;%s;\n\nEve;atlas;cus_1;2;\"two\n\nlines\"\n\nFay;atlas;cus_1;2;\n" // 9, 11, 13
	p, err := inner.Of(f.Service).MoveIn().PreviewCSV(t.Context(), []byte(fmt.Sprintf(file, "many")))
	is.NoErr(err)
	var refused []int
	for _, r := range p.Results {
		if r.Result == api.ImportRefused {
			refused = append(refused, r.Line)
		}
	}
	is.Equal(refused, []int{9, 11})
	is.Equal(p.Results[3].Line, 13)
	_, err = inner.Of(f.Service).MoveIn().PreviewCSV(t.Context(), []byte(fmt.Sprintf(file, "1")+"\n\na;b;c;d;e;f\n"))
	invalid, ok := errors.AsType[*api.InvalidError](err)
	is.True(ok)
	require.Contains(t, invalid.Fields[0].Detail, "row 16 has more cells")

	file = strings.Replace(fmt.Sprintf(file, "1"), "\"two\n\nlines\"", "", 1)
	p, err = inner.Of(f.Service).MoveIn().PreviewCSV(t.Context(), []byte(file))
	is.NoErr(err)
	var numbers []int
	is.NoErr(f.Import(t.Context(), bytes.NewReader(p.NDJSON), func(r api.RowResult) error {
		numbers = append(numbers, r.Line)
		return nil
	}))
	is.Equal(numbers, []int{6, 9, 11, 13})
}

func TestPreviewCSVOfASpreadsheet(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	p, err := inner.Of(f.Service).MoveIn().PreviewCSV(t.Context(), []byte("\ufeffName;Customer_ID;product_id;expires_at;max_activations;status\r\n"+
		"Zoë;cus_1;atlas;2027-01-31;3;Suspended\r\n;;;;;\r\nBob ; cus_2;atlas;;;ACTIVE\r\n"))
	is.NoErr(err)
	is.Equal(len(p.Results), 2)
	is.Equal(p.Results[1].Line, 4) // as in the spreadsheet
	is.Equal(f.importLines(t, p.NDJSON), []string{"created", "created"})
	is.Equal(f.importLines(t, p.NDJSON), []string{"exists", "exists"}) // the new IDs are in the lines
	list, err := f.List(t.Context(), api.ListLicensesParams{CustomerID: "cus_1"})
	is.NoErr(err)
	l := list.Data[0]
	is.Equal(l.Name, "Zoë")
	is.Equal(*l.ExpiresAt, time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)) // the end of the day
	is.Equal(*l.MaxActivations, int64(3))
	is.True(l.Key != "")
	is.Equal(l.Status, api.LicenseSuspended)
}

func TestPreviewCSVReportsAllFaults(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	other := f.create(t)
	p, err := inner.Of(f.Service).MoveIn().PreviewCSV(t.Context(), []byte("name,product_id,customer_id,key,expires_at,max_activations,metadata,status\n"+
		"'=Ada,atlas,cus_1,,31.01.2027,many,order=7,\n"+
		",atlas,cus_1,,,,,paused\n"+
		"Bob,atlas,cus_1,OLD-SYSTEM-KEY-000001,,,,\n"+
		"Bob,atlas,cus_1,OLD-SYSTEM-KEY-000001,,,,\n"+
		"Eve,atlas,cus_1,"+other.Key+",,,,\n"))
	is.NoErr(err)
	is.Equal(bytes.Count(p.NDJSON, []byte("{")), 2) // the valid rows: one is new, and one exists
	is.Equal(bytes.Count(p.Refused, []byte("\r\n")), 4)
	require.Contains(t, string(p.Refused), "\r\n'=Ada,") // escaped once
	var got []string
	for _, r := range p.Results {
		for _, x := range r.Errors {
			got = append(got, fmt.Sprintf("%d %s %s %s", r.Line, x.Field, x.Code, x.Detail))
		}
	}
	for _, want := range []string{"2 expires_at invalid_format must be a date such as", "2 max_activations", "2 metadata", "3 name", "3 status", "5 key taken"} {
		require.Contains(t, strings.Join(got, "\n")+"\n", want) // want
	}
	is.Equal(p.Results[2].Result, api.ImportCreated)
	is.Equal(p.Results[4].Result, api.ImportExists)

	_, err = inner.Of(f.Service).MoveIn().PreviewCSV(t.Context(), []byte("name,product_id,customer_id\n"+strings.Repeat("a,b,c\n", 25_000)))
	is.NoErr(err) // as many as there may be
	for text, want := range map[string]string{
		"":                                       "empty",
		"name,product_id,customer_id\n":          "no rows",
		"name,product_id\nAda,atlas\n":           "correct the header: customer_id is missing",
		"name,expire_at,Max Activations,name\nA": "correct the header: “expire_at” may be meant as expires_at, “Max Activations” may be meant as max_activations, “name” appears more than once, product_id is missing, customer_id is missing",
		"name,product_id,customer_id,status,state\n":                        "“state” appears more than once",
		"name,product_id,customer_id,name\n":                                "more than once",
		"name,product_id,customer_id\na,b,c,d\n":                            "row 2 has more cells",
		"name,product_id,customer_id\n\"a,b,c\n":                            "quotation marks",
		"name,product_id,customer_id\nZo\xeb,b,c\n":                         "not UTF-8",
		"name,product_id,customer_id\n" + strings.Repeat("a,b,c\n", 25_001): "25001 rows",
	} {
		_, err := inner.Of(f.Service).MoveIn().PreviewCSV(t.Context(), []byte(text))
		invalid, ok := errors.AsType[*api.InvalidError](err)
		is.True(ok)
		require.Contains(t, invalid.Fields[0].Detail, want) // want
	}
}

// TestPreviewCSVOfOtherColumns: a column that may be a typo of a known one is refused with that
// name, and another becomes metadata, which the preview names. The address has a column of its
// own, and status is also called state.
func TestPreviewCSVOfOtherColumns(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	preview := func(text string) ([]string, string, error) {
		p, err := inner.Of(f.Service).MoveIn().PreviewCSV(t.Context(), []byte(text))
		return p.Metadata, string(p.NDJSON), err
	}
	for typo, known := range map[string]string{
		"expire_at": "expires_at", "expires at": "expires_at", "ExpiresAt": "expires_at", "expires__at": "expires_at", "e-mail": "email", "states": "state",
		"plan id": "plan_id", "metadatum": "", "keys": "key", "max_activation": "max_activations", "product": "", "order no": "", "expiry": "", "seats": "", "vip": "",
	} {
		names, _, err := preview("name,product_id,customer_id," + typo + "\nAda,atlas,cus_1,x\n")
		if known == "" {
			is.NoErr(err)
			is.Equal(names, []string{typo})
			continue
		}
		require.Contains(t, fmt.Sprint(err), "“"+typo+"” may be meant as "+known)
	}
	names, _, err := preview("Name, product_id ,CUSTOMER_ID,key,State,email,Order No,metadata\nAda,atlas,cus_1,OLD-SYSTEM-KEY-000001,suspended,ada@example.com,A17,\"{\"\"vip\"\":\"\"yes\"\"}\"\n")
	is.NoErr(err)
	is.Equal(names, []string{"Order No"})
	_, lines, err := preview("name,product_id,customer_id,key,state,email,Order No,metadata\nAda,atlas,cus_1,OLD-SYSTEM-KEY-000001,suspended,ada@example.com,A17,\"{\"\"vip\"\":\"\"yes\"\"}\"\n")
	is.NoErr(err)
	is.Equal(f.importLines(t, []byte(lines)), []string{"created"})
	list, err := f.List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(list.Data[0].Metadata, map[string]string{"email": "ada@example.com", "Order No": "A17", "vip": "yes"})
	is.Equal(list.Data[0].Status, api.LicenseSuspended)
	p, err := inner.Of(f.Service).MoveIn().PreviewMove(t.Context(), []byte("name,product_id,customer_id,key\nAda,atlas,cus_1,\n"))
	is.NoErr(err)
	is.Equal(p.Results[0].Errors[0].Field, "key") // the file could not be imported again
}
