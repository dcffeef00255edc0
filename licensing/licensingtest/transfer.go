package licensingtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
)

const lineByLine = "application/x-ndjson"

// importing sends rows.
func (a *site) importing(rows ...string) *answer {
	a.t.Helper()
	return a.post("import/license", strings.Join(rows, "\n"), headers{"Content-Type": lineByLine})
}

// lines returns the lines of an NDJSON response.
func (an *answer) lines() []string {
	return slices.Collect(strings.Lines(string(an.body)))
}

// testTransfers exports and imports licenses.
func testTransfers(a *site) {
	moved := a.post("license", object("name", "n", "product_id", "atlas", "customer_id", "cus_1", "expires_at", "2030-01-31T00:00:00Z",
		"entitlements", map[string]any{"seats": 5}, "metadata", map[string]string{"k": "<v>"})).is(http.StatusCreated)
	a.post("license/"+moved.text("id")+"/suspend", object("reason", "unpaid")).is(http.StatusOK)
	a.create("m", "beacon", "cus_2")

	a.test("out and in again", func(a *site) {
		out := a.get("export/license?product_id=atlas").is(http.StatusOK).hasHeader("Content-Type", lineByLine)
		if len(out.lines()) != 1 || !strings.Contains(string(out.body), moved.text("key")) {
			out.errorf("the export should be one license, with its key")
		}
		before := a.get("license/" + moved.text("id"))
		again := a.importing(out.lines()...).is(http.StatusOK).has("result", "exists").has("id", moved.text("id"))
		again.hasHeader("Content-Type", lineByLine)
		a.delete("license/" + moved.text("id")).is(http.StatusOK)
		a.importing(out.lines()...).is(http.StatusOK).has("line", 1).has("result", "created").has("id", moved.text("id"))
		back := a.get("license/" + moved.text("id")).is(http.StatusOK)
		for _, member := range []string{"key", "status", "status_reason", "expires_at", "entitlements", "metadata", "created_at"} {
			back.has(member, before.at(member))
		}
	})

	a.test("each row by itself", func(a *site) {
		got := a.importing(
			`{"name":"n","product_id":"p","customer_id":"in","key":"AN-OLD-KEY-NUMBER-1","state":"revoked"}`,
			`{"name":"n","product_id":"p","customer_id":"in"}`,
			``,
			`{"name":"","product_id":"p","customer_id":"in","key":"AN-OLD-KEY-NUMBER-2"}`,
			`hello`,
			`{"name":"n","product_id":"p","customer_id":"in","key":"AN-OLD-KEY-NUMBER-1"}`,
		).is(http.StatusOK)
		var results []string
		for _, line := range got.lines() {
			row := &answer{t: a.t, body: []byte(line)}
			results = append(results, fmt.Sprint(row.at("line"), " ", row.at("result"), " ", row.at("errors/0/field")))
		}
		if want := []string{"1 created <nil>", "2 refused key", "4 refused name", "5 refused ", "6 exists <nil>"}; !slices.Equal(results, want) {
			got.errorf("the results are %q, want %q", results, want)
		}
		a.get("license/in").is(http.StatusOK).has("data/0/status", "revoked")
		a.validate("key", "AN-OLD-KEY-NUMBER-1").because("revoked")
	})

	a.test("many rows, many lines", func(a *site) {
		rows := make([]string, 250)
		for i := range rows {
			rows[i] = object("name", fmt.Sprint(i), "product_id", "bulk", "customer_id", "c", "key", fmt.Sprintf("AN-OLD-KEY-NUMBER-%04d", i))
		}
		if got := a.importing(rows...).is(http.StatusOK); strings.Count(string(got.body), `"result":"created"`) != len(rows) {
			got.errorf("all rows should be created")
		}
		if got := a.quietly().get("export/license?product_id=bulk").is(http.StatusOK); len(got.lines()) != len(rows) {
			got.errorf("the export has %d lines, want %d", len(got.lines()), len(rows))
		}
	})

	a.test("a client limited to a product moves no other", func(a *site) {
		c, secret := a.NewClient(auth.CreateClientParams{Name: "limited", Products: []string{"beacon"}})
		token, _ := a.NewToken(c.ID, secret)
		limited := a.as(token)
		if got := limited.get("export/license").is(http.StatusOK); len(got.lines()) != 1 {
			got.errorf("one license is of beacon")
		}
		limited.importing(`{"name":"n","product_id":"atlas","customer_id":"c","key":"AN-OLD-KEY-NUMBER-X"}`).is(http.StatusOK).has("result", "refused")
	})

	a.test("what is refused", func(a *site) {
		before := a.snapshot()
		a.importing().is(http.StatusOK)
		a.post("import/license", `{"name":"n"}`).is(http.StatusUnsupportedMediaType).hasHeader("Accept", lineByLine)
		a.get("export/license?limit=5").is(http.StatusBadRequest).names("limit")
		a.get("export/license?status=gone").is(http.StatusBadRequest).names("status")
		a.get("export/license", anonymous).is(http.StatusUnauthorized)
		a.get("import/license").is(http.StatusMethodNotAllowed)
		a.same(before)
	})
}
