package servicetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// examplesFile has an event of each type, as a webhook sends it. openapi.json and
// docs/eventtypes.md take their examples from it.
var examplesFile = filepath.Join("testdata", "events.json")

// TestEveryEventType has the service append an event of each type, and compares the
// first of each with testdata/events.json. After an intended change, rewrite the file with
//
//	go test ./licensing/internal/servicetest -run EveryEventType -update
//	go test ./licensing/internal/http/endpoints -run 'OpenAPI|EventTable' -update
func TestEveryEventType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		time.Sleep(time.Until(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)))
		w := &world{T: t, h: licensing.NewHandler(memory.New(), licensing.Options{
			Logger: discard, ClaimFrom: []string{"batch:"}, MasterKey: make([]byte, 32), Limits: licensing.LimitOptions{ClientRate: -1}, PollInterval: time.Minute,
			Webhooks: webhook.Options{Transport: gone{}},
		})}
		w.history()
		checkEvents(t, w.h)
		first := map[string]api.Event{}
		for e, err := range w.h.Service().AllEvents(t.Context(), api.ListEventsParams{}) {
			is.NoErr(err)
			if _, there := first[e.Type]; !there {
				first[e.Type] = e
			}
		}
		var lines []string
		for _, name := range api.EventTypes() {
			if _, there := first[name]; !there {
				t.Errorf("no event %s", name)
				continue
			}
			text, err := json.Marshal(first[name])
			is.NoErr(err)
			lines = append(lines, string(text))
		}
		got := settled("[\n" + strings.Join(lines, ",\n") + "\n]\n")
		if *update {
			is.NoErr(os.WriteFile(examplesFile, []byte(got), 0o644))
			return
		}
		want, err := os.ReadFile(examplesFile)
		is.NoErr(err)
		if got != string(want) {
			t.Errorf("%s is out of date; run this test with -update\n%s", examplesFile, got)
		}
	})
}

// random matches what differs from run to run: IDs, and times of the clock that have jitter.
var random = regexp.MustCompile(`\b([a-z]{3}_)(?:[0-9a-hjkmnp-tv-z]{26}|[0-9A-Za-z]{49})\b|"[0-9A-Za-z_-]{43}"|"[A-Z2-7]{26}"|"[0-9a-f]{32}"|"[0-9a-f]{64}"|(T\d\d:)\d\d:\d\d\.\d+Z`)

// settled replaces what is random by a number, the same for the same text.
func settled(s string) string {
	numbers := map[string]int{}
	return random.ReplaceAllStringFunc(s, func(text string) string {
		if numbers[text] == 0 {
			numbers[text] = len(numbers) + 1
		}
		switch {
		case text[0] == 'T':
			return text[:4] + "00:00Z"
		case text[0] == '"':
			return fmt.Sprintf(`"%0*d"`, len(text)-2, numbers[text])
		}
		return fmt.Sprintf("%s01ke6p4ym0%0*d", text[:4], len(text)-14, numbers[text])
	})
}

// TestUnknownEventType: who asks for a type that does not exist is told which do.
func TestUnknownEventType(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	a := c.do("GET", "/event?type=wrong", "")
	is.Equal(a.Code, http.StatusBadRequest)
	is.Equal(a.json["code"], "invalid_request")
	require.Contains(t, a.json["detail"].(string), api.EventTypes()...)
}
