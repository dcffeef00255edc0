package licensingtest

import "net/http"

// A snapshot holds everything that a request could have changed.
type snapshot struct {
	licenses string
	events   int
}

// snapshot reads all licenses through the API and counts events.
func (a *site) snapshot() snapshot {
	a.t.Helper()
	var r snapshot
	q := a.quietly()
	q.token = a.Token() // all licenses, whichever client sent the request before
	for next := "license?limit=200"; next != ""; {
		page := q.get(next).is(http.StatusOK)
		r.licenses += string(encode(page.at("data")))
		next = ""
		if page.at("has_more") == true {
			next = "license?limit=200&cursor=" + page.text("next_cursor")
		}
	}
	r.events = len(a.Events())
	return r
}

// same checks that nothing has changed since, and returns a new snapshot.
func (a *site) same(before snapshot) (after snapshot) {
	a.t.Helper()
	after = a.snapshot()
	if after.licenses != before.licenses {
		a.t.Errorf("the licenses changed\n--- before\n%s\n--- after\n%s", abridge(before.licenses), abridge(after.licenses))
	}
	if after.events != before.events {
		a.t.Errorf("%d events, before %d", after.events, before.events)
	}
	return after
}
