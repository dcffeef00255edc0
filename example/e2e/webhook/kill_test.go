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

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// The test binary is its own victim: with this variable set it is a host that
// creates licenses and delivers their events until it is killed.
const victimFile = "LICENSEKIT_VICTIM"

func TestMain(m *testing.M) {
	if file := os.Getenv(victimFile); file != "" {
		if err := victim(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// open opens the service on a file, with a clock that is ahead.
func open(file string, ahead time.Duration) (*sqlite.Store, *licensing.Handler, error) {
	st, err := sqlite.Open(file)
	if err != nil {
		return nil, nil, err
	}
	return st, licensing.NewHandler(st, licensing.Options{
		Now:    func() time.Time { return time.Now().Add(ahead) },
		Logger: slog.New(slog.DiscardHandler), PollInterval: 10 * time.Millisecond,
		Webhooks: webhook.Options{AllowPrivate: true},
	}), nil
}

// victim prints the id of each license that was created.
func victim(file string) error {
	_, h, err := open(file, 0)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go h.Run(ctx)
	for ctx.Err() == nil {
		l, err := h.Service().Create(ctx, license.CreateParams{Name: "n", ProductID: "p", CustomerID: "c"})
		if err != nil {
			return err
		}
		fmt.Println(l.ID)
	}
	return nil
}

// TestKills kills a host again and again, with events between their commit and
// their delivery and with requests under way, and then lets one finish. One
// webhook answers quickly, one fails at times, and one is so slow at times that it
// leaves the shared lane. Each license that was acknowledged has its event
// delivered to each; what came more than once came under one id.
func TestKills(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "licenses.db")
	var mu sync.Mutex
	messages := map[string]map[string]bool{} // the ids of the messages about each license to each webhook
	repeated, calm := 0, false
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(rand.N(10 * time.Millisecond)) // so that kills find requests under way
		mu.Lock()
		trouble := !calm && rand.N(20) == 0
		mu.Unlock()
		switch {
		case trouble && r.URL.Path == "/flaky":
			w.WriteHeader(http.StatusInternalServerError)
			return
		case trouble && r.URL.Path == "/slow":
			time.Sleep(1200 * time.Millisecond)
		}
		var body strings.Builder
		_, _ = bufio.NewReader(r.Body).WriteTo(&body)
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

	st, h, err := open(file, 0)
	is.NoErr(err)
	paths := []string{"/quick", "/flaky", "/slow"}
	for _, path := range paths {
		_, _, err = h.Webhooks().Create(t.Context(), webhook.CreateParams{URL: receiver.URL + path, Types: []string{license.EventLicenseCreated}})
		is.NoErr(err)
	}
	is.NoErr(st.Close())

	var created []string
	for range 6 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), victimFile+"="+file)
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
	is.True(len(created) > 0)

	// The leases of the dead have ended by this clock, and failed deliveries are
	// due again.
	mu.Lock()
	calm = true
	mu.Unlock()
	st, h, err = open(file, time.Hour)
	is.NoErr(err)
	defer st.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	missing := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range created {
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
	t.Logf("%d licenses created, %d messages repeated", len(created), repeated)
}
