//go:build unix

package webhook

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// The test binary is its own victim: with these variables set it is a host that
// creates licenses and delivers their events until it is killed.
const (
	victimFile     = "LICENSEKIT_VICTIM"
	victimReceiver = "LICENSEKIT_RECEIVER"
	victimAhead    = "LICENSEKIT_AHEAD" // of its clock, so that the lease of the one before has ended
)

func TestMain(m *testing.M) {
	if file := os.Getenv(victimFile); file != "" {
		ahead, err := time.ParseDuration(os.Getenv(victimAhead))
		if err == nil {
			err = victim(file, os.Getenv(victimReceiver), ahead)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// open opens the service on a file, with a clock that is ahead and a subscriber that
// passes events on to a receiver.
func open(file, receiver string, ahead time.Duration) (*sqlite.Store, *licensing.Handler, error) {
	st, err := sqlite.Open(file)
	if err != nil {
		return nil, nil, err
	}
	return st, licensing.NewHandler(st, licensing.Options{
		Now:    func() time.Time { return time.Now().Add(ahead) },
		Logger: slog.New(slog.DiscardHandler), PollInterval: 10 * time.Millisecond,
		Webhooks: webhook.Options{AllowPrivate: true},
		Subscribers: []licensing.Subscriber{{Name: "s", FromStart: true, Types: []string{api.EventLicenseCreated}, Handle: func(ctx context.Context, e api.Event) error {
			return pass(ctx, receiver+"/subscriber", e)
		}}},
	}), nil
}

// pass sends an event to a receiver.
func pass(ctx context.Context, address string, e api.Event) error {
	r, err := http.NewRequestWithContext(ctx, "POST", address, strings.NewReader(fmt.Sprintf(`{"subject":%q}`, e.Subject)))
	if err != nil {
		return err
	}
	r.Header.Set("webhook-id", e.ID)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %d", resp.StatusCode)
	}
	return nil
}

// victim prints the id of each license that was created.
func victim(file, receiver string, ahead time.Duration) error {
	_, h, err := open(file, receiver, ahead)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go h.Run(ctx)
	for ctx.Err() == nil {
		l, err := h.Service().Create(ctx, api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
		if err != nil {
			return err
		}
		fmt.Println(l.ID)
		time.Sleep(3 * time.Millisecond) // a subscriber gets one event after another, and has to be done with them in time
	}
	return nil
}

// TestKills kills a host again and again, with events between their commit and
// their delivery and with requests under way, and then lets one finish. One
// webhook answers quickly, one fails at times, and one is so slow at times that it
// leaves the shared cursor; a subscriber fails at times. Each license that was
// acknowledged is in the feed, and each event of the feed is delivered to each of
// them; what came more than once came under one id.
func TestKills(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "licenses.db")
	var mu sync.Mutex
	messages := map[string]map[string]bool{} // the ids of the messages about each license to each webhook
	repeated, calm := 0, false
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body strings.Builder
		_, _ = bufio.NewReader(r.Body).WriteTo(&body)
		time.Sleep(rand.N(10 * time.Millisecond)) // so that kills find requests under way
		mu.Lock()
		trouble := !calm && rand.N(10) == 0
		mu.Unlock()
		switch {
		case trouble && (r.URL.Path == "/flaky" || r.URL.Path == "/subscriber"):
			w.WriteHeader(http.StatusInternalServerError)
			return
		case trouble && r.URL.Path == "/slow":
			time.Sleep(1200 * time.Millisecond)
		}
		if r.Context().Err() != nil { // the sender was killed
			return
		}
		_, rest, _ := strings.Cut(body.String(), `"subject":"`)
		subject, _, _ := strings.Cut(rest, `"`)
		subject += r.URL.Path
		mu.Lock()
		defer mu.Unlock()
		if messages[subject] == nil {
			messages[subject] = map[string]bool{}
		}
		if id := r.Header.Get("webhook-id"); messages[subject][id] {
			repeated++
		} else {
			messages[subject][id] = true
		}
	}))
	defer receiver.Close()

	st, h, err := open(file, receiver.URL, 0)
	is.NoErr(err)
	paths := []string{"/quick", "/flaky", "/slow", "/subscriber"}
	for _, path := range paths[:3] {
		_, _, err = h.Webhooks().Create(t.Context(), api.CreateWebhookParams{URL: receiver.URL + path, Types: []string{api.EventLicenseCreated}})
		is.NoErr(err)
	}
	is.NoErr(st.Close())

	var created []string
	for i := range 6 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), victimFile+"="+file, victimReceiver+"="+receiver.URL, victimAhead+"="+(time.Duration(i)*time.Minute).String())
		out, err := cmd.StdoutPipe()
		is.NoErr(err)
		is.NoErr(cmd.Start())
		kill := time.AfterFunc(300*time.Millisecond+rand.N(1500*time.Millisecond), func() { _ = cmd.Process.Kill() })
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if id := lines.Text(); strings.HasPrefix(id, "lic_") && len(id) == 30 {
				created = append(created, id)
			}
		}
		_ = cmd.Wait() // killed, and says so
		kill.Stop()
	}
	require.Greater(t, len(created), 0)

	// The leases of the dead have ended by this clock, and failed deliveries are
	// due again.
	mu.Lock()
	calm = true
	mu.Unlock()
	st, h, err = open(file, receiver.URL, time.Hour)
	is.NoErr(err)
	defer st.Close()
	stored := map[string]bool{}
	for p := (api.ListEventsParams{Types: []string{api.EventLicenseCreated}, Limit: 200}); ; {
		page, err := h.Service().Events(t.Context(), p)
		is.NoErr(err)
		for _, e := range page.Data {
			stored[e.Subject] = true
		}
		if p.After = page.NextCursor; !page.HasMore {
			break
		}
	}
	for _, id := range created {
		is.True(stored[id]) // acknowledged
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	missing := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for id := range stored {
			for _, path := range paths {
				if messages[id+path] == nil {
					n++
				}
			}
		}
		return n
	}
	for deadline := time.Now().Add(time.Minute); missing() > 0 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
	}
	cancel()
	is.NoErr(<-ended)
	is.Equal(missing(), 0)
	mu.Lock()
	defer mu.Unlock()
	for _, ids := range messages {
		is.Equal(len(ids), 1)
	}
	hooks, err := h.Webhooks().List(t.Context(), api.ListWebhooksParams{})
	is.NoErr(err)
	for _, w := range hooks.Data {
		is.Equal(w.SkippedEvents, int64(0))
	}
	t.Logf("%d licenses created, %d of them acknowledged, %d messages repeated", len(stored), len(created), repeated)
}
