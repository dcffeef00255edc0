//go:build linux

package recovery

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

var (
	backups = flag.Int("backups", 5, "how many backups TestBackups makes before it restores the last one")
	every   = flag.Duration("every", 300*time.Millisecond, "how much time is between two of them")
)

// A receiver counts how often it gets each event, of which it fails some once.
type receiver struct {
	mu     sync.Mutex
	n      int
	failed map[string]bool
	got    map[string]int
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := req.Header.Get("webhook-id")
	if r.n++; r.n%50 == 0 && !r.failed[id] { // the attempt after the next comes too late
		r.failed[id] = true
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.got[id]++
}

// take returns what was received since it was last called.
func (r *receiver) take() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = map[string]int{}
	return got
}

// feed reads the event feed after a cursor, and returns the events by ID with what
// each is about, and the cursor at its end. ok is false if the cursor is gone.
func (s *service) feed(after string) (subjects map[string]string, end string, ok bool) {
	s.t.Helper()
	subjects = map[string]string{}
	for {
		status, page := s.send("GET", "/event?limit=200"+parameter("after", after), "")
		if status == http.StatusGone && page["code"] == "cursor_gone" {
			return nil, "", false
		} else if status != http.StatusOK {
			s.t.Fatal(status, page)
		}
		for _, e := range page["data"].([]any) {
			e := e.(map[string]any)
			subjects[e["id"].(string)] = e["subject"].(string)
		}
		after, _ = page["next_cursor"].(string)
		if more, _ := page["has_more"].(bool); !more {
			return subjects, after, true
		}
	}
}

// parameter returns a parameter of a query that has others, if it has a value.
func parameter(name, value string) string {
	if value == "" {
		return ""
	}
	return "&" + name + "=" + url.QueryEscape(value)
}

// delivered returns the events of which the file, which no process serves, says that
// a webhook has them.
func (s *service) delivered(webhookID string) map[string]bool {
	s.t.Helper()
	events := map[string]bool{}
	s.inside(func(h *licensing.Handler) {
		p := api.ListDeliveriesParams{WebhookID: webhookID, Status: api.DeliverySucceeded, Limit: 200}
		for {
			page, err := h.Webhooks().Deliveries(s.t.Context(), p)
			s.check(err)
			for _, d := range page.Data {
				events[d.EventID] = true
			}
			if p.Cursor = page.NextCursor; p.Cursor == "" {
				return
			}
		}
	})
	return events
}

// TestBackups makes backups under load and restores the last one: it has everything
// that was acknowledged before it began, a reader of the feed notices once, and
// webhooks get again only what was not known to be delivered.
func TestBackups(t *testing.T) {
	for _, fault := range restoreUnderLoad(t, *backups, func() {}) {
		t.Error(fault)
	}
}

// TestBackupsFindsLoss checks that TestBackups would find a backup without the
// latest changes before it.
func TestBackupsFindsLoss(t *testing.T) {
	is := is.New(t)
	faults := restoreUnderLoad(t, 2, func() { is.NoErr(os.Rename("previous.db", "copy.db")) })
	is.True(len(faults) > 0)
}

// restoreUnderLoad makes backups, calls spoil and restores the last one, and returns
// what is wrong then.
func restoreUnderLoad(t *testing.T, backups int, spoil func()) (faults []string) {
	t.Helper()
	is := is.New(t)
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	receiver := &receiver{failed: map[string]bool{}, got: map[string]int{}}
	server := httptest.NewServer(receiver)
	defer server.Close()
	s := newService(t)
	s.start()
	status, hook := s.send("POST", "/webhook", `{"url":"`+server.URL+`"}`)
	is.Equal(status, http.StatusCreated)

	var mu sync.Mutex
	acknowledged := map[string]time.Time{}
	var load sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(*every / 1000): // so that the store of the long form does not fill the disk
				}
				if id := s.create("n"); id != "" {
					mu.Lock()
					acknowledged[id] = time.Now()
					mu.Unlock()
				}
			}
		})
	}
	var began time.Time
	for n := range backups {
		time.Sleep(*every)
		began = time.Now()
		if n > 0 {
			is.NoErr(os.Rename("copy.db", "previous.db"))
		}
		s.backup()
	}
	time.Sleep(*every)
	close(stop)
	load.Wait()
	_, cursor, ok := s.feed("")
	is.True(ok)
	spoil()
	s.follow("A page is corrupt")
	s.stop(syscall.SIGTERM)
	before := receiver.take()

	known := s.delivered(hook["id"].(string))
	s.start(variableAhead + "=1m")
	first, _, _ := s.feed("")
	has := map[string]bool{}
	for _, subject := range first {
		has[subject] = true
	}
	kept, lost := 0, 0
	for id, at := range acknowledged {
		switch status, _ := s.send("GET", "/license/"+id, ""); {
		case status == http.StatusOK && has[id]:
			kept++
		case status != http.StatusNotFound || has[id]:
			fault("license %s: %d, event: %v", id, status, has[id])
		case at.Before(began):
			fault("license %s was acknowledged %v before the backup, and is lost", id, began.Sub(at))
		default:
			lost++
		}
	}
	require.Greater(t, kept, 0)
	require.Greater(t, lost, 0) // there was something after the backup

	s.creates(lost + 100) // the cursor would be within the feed again
	_, _, ok = s.feed(cursor)
	is.True(!ok)
	all, cursor, ok := s.feed("")
	is.True(ok)
	s.creates(1)
	news, _, ok := s.feed(cursor)
	is.True(ok)
	is.Equal(len(news), 1)

	after, repeated := map[string]int{}, 0
	s.await("every event", func() bool {
		missing := 0
		for id := range receiver.take() {
			after[id]++
		}
		for id := range all {
			if strings.HasPrefix(all[id], "lic_") && before[id]+after[id] == 0 {
				missing++
			}
		}
		return missing == 0
	})
	for id := range after {
		if known[id] {
			fault("event %s is sent again, although it was known to be delivered", id)
		}
		if before[id] > 0 {
			repeated++
		}
	}
	t.Logf("%d backups; %d licenses acknowledged, %d of them after the last backup; %d events, %d deliveries repeated",
		backups, len(acknowledged), lost, len(first), repeated)
	return faults
}
