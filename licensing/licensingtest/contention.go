package licensingtest

import (
	"fmt"
	"net/http"
	"sync"
)

// together runs fn n times concurrently and returns the responses.
func together(n int, fn func(i int) *answer) []*answer {
	answers := make([]*answer, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			answers[i] = fn(i)
		})
	}
	close(start)
	wg.Wait()
	return answers
}

// count returns how many responses have that status.
func count(answers []*answer, status int) int {
	n := 0
	for _, an := range answers {
		if an.status == status {
			n++
		}
	}
	return n
}

// testContention sends concurrent requests.
func testContention(a *site) {
	a.test("changes of two fields lose nothing", func(a *site) {
		const n = 200
		id := a.create("n", "p", "two-fields")
		a, events := a.quietly(), len(a.Events())
		answers := together(n, func(i int) *answer {
			if i%2 == 0 {
				return a.patch("license/"+id, object("name", fmt.Sprintf("name %d", i)))
			}
			return a.patch("license/"+id, object("metadata", map[string]string{fmt.Sprintf("k%d", i%20): fmt.Sprint(i)}))
		})
		if acknowledged := count(answers, http.StatusOK); acknowledged != n {
			a.t.Fatalf("%d of %d changes were acknowledged", acknowledged, n)
		}
		// Every change had a different value, so each made a revision. Sorted by
		// revision, each response differs from the previous by one change.
		byRevision := make([]*answer, n+2)
		for _, an := range answers {
			revision, _ := an.at("revision").(float64)
			if revision < 2 || revision > n+1 || byRevision[int(revision)] != nil {
				an.errorf("revision %v is out of range or was given twice", revision)
				return
			}
			byRevision[int(revision)] = an
		}
		for i, an := range answers {
			revision := int(an.at("revision").(float64))
			field, want := "name", any(fmt.Sprintf("name %d", i))
			other := "metadata"
			if i%2 == 1 {
				field, want, other = fmt.Sprintf("metadata/k%d", i%20), fmt.Sprint(i), "name"
			}
			an.has(field, want)
			if revision > 2 {
				an.has(other, byRevision[revision-1].at(other))
			}
		}
		final, last := a.get("license/"+id), byRevision[n+1]
		final.has("revision", n+1).has("name", last.at("name")).has("metadata", last.at("metadata"))
		if got := len(a.Events()) - events; got != n {
			a.t.Errorf("%d events for %d changes", got, n)
		}
	})

	a.test("one Idempotency-Key makes one license", func(a *site) {
		const n = 50
		a = a.quietly()
		events := len(a.Events())
		answers := together(n, func(int) *answer {
			return a.post("license", licenseBody("once", "p", "one-key"), key("order-7"))
		})
		made, busy := count(answers, http.StatusCreated), count(answers, http.StatusConflict)
		if made == 0 || made+busy != n {
			a.t.Errorf("%d answers of success and %d of conflict, together not %d", made, busy, n)
		}
		list := a.get("license?customer_id=one-key").is(http.StatusOK)
		if len(list.ids()) != 1 {
			list.errorf("%d licenses, want 1", len(list.ids()))
		}
		for _, an := range answers {
			if an.status == http.StatusCreated {
				an.has("id", list.at("data/0/id"))
			}
		}
		if got := len(a.Events()) - events; got != 1 {
			a.t.Errorf("%d events for one license", got)
		}
	})

	a.test("one version lets one change through", func(a *site) {
		const n = 50
		id := a.create("n", "p", "one-version")
		a, events := a.quietly(), len(a.Events())
		answers := together(n, func(i int) *answer {
			return a.patch("license/"+id, object("name", fmt.Sprintf("name %d", i)), headers{"If-Match": `"1.active"`})
		})
		if won, stale := count(answers, http.StatusOK), count(answers, http.StatusPreconditionFailed); won != 1 || stale != n-1 {
			a.t.Errorf("%d changes went through and %d were stale, want 1 and %d", won, stale, n-1)
		}
		a.get("license/"+id).has("revision", 2)
		if got := len(a.Events()) - events; got != 1 {
			a.t.Errorf("%d events for one change", got)
		}
	})

	a.test("a license is deleted once", func(a *site) {
		const n = 20
		id := a.create("n", "p", "one-end")
		a, events := a.quietly(), len(a.Events())
		answers := together(n, func(int) *answer { return a.delete("license/" + id) })
		if gone := count(answers, http.StatusOK); gone != 1 || count(answers, http.StatusNotFound) != n-1 {
			a.t.Errorf("%d deletions were confirmed, want 1", gone)
		}
		if got := len(a.Events()) - events; got != 1 {
			a.t.Errorf("%d events for one deletion", got)
		}
	})

	a.test("creating concurrently", func(a *site) {
		const n = 60
		a = a.quietly()
		answers := together(n, func(i int) *answer {
			return a.post("license", licenseBody(fmt.Sprint(i), "p", "many"))
		})
		if made := count(answers, http.StatusCreated); made != n {
			a.t.Errorf("%d of %d were created", made, n)
		}
		var ids []string
		for _, an := range answers {
			ids = append(ids, an.text("id"))
		}
		if got := a.walk("license?customer_id=many&limit=7"); !sameSet(got, ids) {
			a.t.Errorf("the list holds %d licenses, want %d", len(got), n)
		}
	})
}
