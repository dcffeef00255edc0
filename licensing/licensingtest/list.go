package licensingtest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// testLists tests filters and pagination.
func testLists(a *site) {
	// Twelve licenses: customers alternate, every third is of the second
	// product, and every fourth has an end.
	var all, cus1, beacon, ending []string
	for i := range 12 {
		customer, product := fmt.Sprintf("cus_%d", 1+i%2), "atlas"
		if i%3 == 2 {
			product = "beacon"
		}
		fields := []any{"name", fmt.Sprintf("license %d", i), "product_id", product, "customer_id", customer}
		if i%4 == 3 {
			fields = append(fields, "expires_at", stamp(Start.AddDate(0, i, 0)))
		}
		id := a.post("license", object(fields...)).is(http.StatusCreated).text("id")
		all = append(all, id)
		if i%2 == 0 {
			cus1 = append(cus1, id)
		}
		if i%3 == 2 {
			beacon = append(beacon, id)
		}
		if i%4 == 3 {
			ending = append(ending, id)
		}
	}
	at := func(months int) string { return url.QueryEscape(stamp(Start.AddDate(0, months, 0))) }

	filters := []struct {
		name, query string
		want        []string
	}{
		{"no filter", "", all},
		{"customer_id", "customer_id=cus_1", cus1},
		{"a customer without licenses", "customer_id=unknown", nil},
		{"product_id", "product_id=beacon", beacon},
		{"customer_id and product_id", "customer_id=cus_1&product_id=beacon", []string{all[2], all[8]}},
		{"status", "status=active", all},
		{"a status that none has", "status=expired", nil},
		{"expires_before leaves out what never ends", "expires_before=" + at(7), ending[:1]},
		{"expires_after", "expires_after=" + at(7), ending[1:]},
		{"a range", "expires_after=" + at(4) + "&expires_before=" + at(11), ending[1:2]},
	}
	for _, f := range filters {
		a.test(f.name, func(a *site) {
			got := a.get("license?"+f.query).is(http.StatusOK).
				has("object", "list").has("has_more", false).has("next_cursor", nil).hasHeader("Link", "")
			if !sameSet(got.ids(), f.want) {
				got.errorf("the list should hold %v", f.want)
			}
			if got.at("data") == nil {
				got.errorf("data should be an array, also when it is empty")
			}
		})
	}

	a.test("the path of a customer is its list", func(a *site) {
		byPath, byQuery := a.get("license/cus_1").is(http.StatusOK), a.get("license?customer_id=cus_1")
		if string(byPath.body) != string(byQuery.body) {
			byPath.errorf("it should be %s", byQuery.body)
		}
		a.create("slash", "p", "a/b c")
		a.get("license/a%2Fb%20c").is(http.StatusOK).has("data/0/name", "slash").has("data/1", nil)
	})

	a.test("the status in a list follows the clock", func(a *site) {
		now := a.Clock.Now()
		defer a.Clock.Set(now)
		a.Clock.Set(Start.AddDate(0, 8, 0))
		if got := a.get("license?status=expired"); !sameSet(got.ids(), ending[:2]) {
			got.errorf("the list should hold %v", ending[:2])
		}
		if got := a.get("license?status=active&expires_after=" + at(0)); !sameSet(got.ids(), ending[2:]) {
			got.errorf("the list should hold %v", ending[2:])
		}
	})

	for _, pages := range []struct {
		name, path string
		limit      int
	}{
		{"pages of five", "license?", 5},
		{"pages of one", "license?customer_id=cus_1&", 1},
		{"pages of a customer's path", "license/cus_1?", 4},
		{"pages of a filter", "license?expires_after=" + at(0) + "&", 2},
	} {
		a.test(pages.name, func(a *site) {
			whole := a.get(pages.path + "limit=200").is(http.StatusOK)
			if got := a.walk(fmt.Sprintf("%slimit=%d", pages.path, pages.limit)); !slices.Equal(got, whole.ids()) {
				whole.errorf("paging found %v", got)
			}
		})
	}

	a.test("paging while others write", func(a *site) {
		first := a.get("license?customer_id=cus_2&limit=3").is(http.StatusOK)
		shown := first.ids()
		a.delete("license/" + shown[1]).is(http.StatusOK)       // behind us
		a.delete("license/" + shown[2]).is(http.StatusOK)       // the one the cursor stands on
		a.patch("license/"+shown[0], object("name", "renamed")) // a change moves nothing
		a.create("late", "atlas", "cus_2")                      // may come or not, but once
		rest := a.walk("license?customer_id=cus_2&limit=3&cursor=" + url.QueryEscape(first.text("next_cursor")))
		for _, id := range rest {
			if slices.Contains(shown, id) {
				a.t.Errorf("%s came twice", id)
			}
		}
		for i := 1; i < 12; i += 2 {
			if !slices.Contains(shown, all[i]) && !slices.Contains(rest, all[i]) {
				a.t.Errorf("%s was lost", all[i])
			}
		}
	})

	a.test("the last page of an exact fit ends", func(a *site) {
		n := len(a.get("license?customer_id=cus_1").ids())
		a.get(fmt.Sprintf("license?customer_id=cus_1&limit=%d", n)).has("has_more", false).has("next_cursor", nil)
	})

	a.test("a cursor belongs to its filter", func(a *site) {
		cursor := url.QueryEscape(a.get("license?customer_id=cus_1&limit=2").text("next_cursor"))
		for _, query := range []string{"", "customer_id=cus_2&", "customer_id=cus_1&product_id=atlas&", "customer_id=cus_1&status=active&"} {
			a.get("license?" + query + "limit=2&cursor=" + cursor).is(http.StatusBadRequest).names("cursor")
		}
	})

	a.test("a list across a change of status is of one instant", func(a *site) {
		now := Start.AddDate(0, 6, 0)
		back := a.Clock.Now()
		defer func() { a.Clock.Set(back) }()
		a.Clock.Set(now)
		first := a.get("license?status=active&limit=2").is(http.StatusOK)
		a.Clock.Advance(30 * time.Minute)
		rest := a.walk("license?status=active&limit=2&cursor=" + url.QueryEscape(first.text("next_cursor")))
		for _, id := range first.ids() {
			if slices.Contains(rest, id) {
				a.t.Errorf("%s came twice", id)
			}
		}
	})
}

// walk follows the Link header of each page starting at path, checks that it
// agrees with next_cursor, and returns the IDs of all pages.
func (a *site) walk(path string) []string {
	a.t.Helper()
	var ids []string
	for range 1000 {
		page := a.get(path).is(http.StatusOK)
		ids = append(ids, page.ids()...)
		link := page.header.Get("Link")
		if page.at("has_more") != true {
			if link != "" {
				page.errorf("a Link on the last page")
			}
			return ids
		}
		target, isNext := strings.CutSuffix(link, `>; rel="next"`)
		target, opens := strings.CutPrefix(target, "<")
		if !isNext || !opens {
			page.errorf("has_more without a Link to the next page")
			return ids
		}
		here, err := url.Parse(a.base + "/" + path)
		if err != nil {
			a.t.Fatal(err)
		}
		next, err := here.Parse(target)
		if err != nil || next.Query().Get("cursor") != page.text("next_cursor") {
			page.errorf("the Link should carry next_cursor")
			return ids
		}
		rest, below := strings.CutPrefix(next.String(), a.base+"/")
		if !below {
			page.errorf("the Link leads out of the mount, to %s", next)
			return ids
		}
		path = rest
	}
	a.t.Errorf("paging does not end")
	return ids
}

// sameSet reports whether two lists of distinct ids have the same members.
func sameSet(got, want []string) bool {
	g, w := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	return slices.Equal(g, w)
}
