package servicetest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// TestAFeedCursorIsGoneAfterABackupIsRestored copies the file of a store, and
// puts the copy back after more has happened.
func TestAFeedCursorIsGoneAfterABackupIsRestored(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licensing.db")
	var token string
	open := func() (h *licensing.Handler, closed func()) {
		st, err := sqlite.Open(path)
		is.NoErr(err)
		h = licensing.NewHandler(st, licensing.Options{Logger: discard})
		if token == "" {
			c, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n", Scopes: []string{auth.ScopeEventRead}})
			is.NoErr(err)
			var got struct {
				AccessToken string `json:"access_token"`
			}
			a := ask(t, h, "GET", "/oauth/token?client_id="+c.ID+"&client_secret="+secret, "", "")
			is.NoErr(json.Unmarshal(a.Body.Bytes(), &got))
			token = got.AccessToken
		}
		return h, func() { is.NoErr(st.Close()) }
	}
	read := func(h *licensing.Handler, after string) (code int, next, problem string, n int) {
		target := "/event"
		if after != "" {
			target += "?after=" + after
		}
		a := ask(t, h, "GET", target, token, "")
		var got struct {
			Data       []api.Event `json:"data"`
			NextCursor string      `json:"next_cursor"`
			Code       string      `json:"code"`
		}
		is.NoErr(json.Unmarshal(a.Body.Bytes(), &got))
		return a.Code, got.NextCursor, got.Code, len(got.Data)
	}
	h, closed := open()
	happen(t, h, 3)
	_, kept, _, _ := read(h, "")
	closed()
	backup, err := os.ReadFile(path)
	is.NoErr(err)

	h, closed = open()
	happen(t, h, 2)
	code, lost, _, n := read(h, kept)
	is.Equal(code, http.StatusOK)
	is.Equal(n, 2)
	closed()
	for _, leftover := range []string{path + "-wal", path + "-shm"} {
		is.NoErr(os.RemoveAll(leftover))
	}
	is.NoErr(os.WriteFile(path, backup, 0o600))

	h, closed = open()
	defer closed()
	code, _, problem, _ := read(h, lost)
	is.Equal(code, http.StatusGone) // beyond the end
	is.Equal(problem, "cursor_gone")
	happen(t, h, 4) // with numbers that were given before
	code, _, problem, _ = read(h, lost)
	is.Equal(code, http.StatusGone)
	is.Equal(problem, "cursor_gone")
	code, _, _, n = read(h, kept)
	is.Equal(code, http.StatusOK)
	is.Equal(n, 4)
}

// TestASubscriberThatRetentionOvertookIsNamed stops a subscriber for longer
// than events are kept.
func TestASubscriberThatRetentionOvertookIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var l ledger
		st := memory.New()
		var log strings.Builder
		opts := subscribed(licensing.Subscriber{Name: "ledger", FromStart: true, Handle: l.handle})
		opts.Events.Retention, opts.PollInterval = 24*time.Hour, time.Minute
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		with := licensing.NewHandler(st, opts)
		opts.Subscribers = nil
		without := licensing.NewHandler(st, opts)
		happen(t, with, 1)
		stop := begin(t, with)
		time.Sleep(2 * time.Minute)
		stop()
		happen(t, with, 3)
		stop = begin(t, without)
		time.Sleep(26 * time.Hour)
		stop()
		happen(t, with, 2)
		stop = begin(t, with)
		time.Sleep(2 * time.Minute)
		stop()
		is.Equal(len(l.got()), 4) // all but the two that were removed
		is.Equal(strings.Count(log.String(), "retention removed events before a subscriber received them"), 1)
		require.Contains(t, log.String(), "subscriber=ledger")
	})
}

// TestRetentionPassesEventsOfTheFuture: events that were written while a clock was ahead
// are removed with their neighbors.
func TestRetentionPassesEventsOfTheFuture(t *testing.T) {
	for _, n := range []int{1, 250} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				var ahead atomic.Int64
				opts := seldom(newPostOffice())
				opts.Events.Retention = 48 * time.Hour
				opts.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
				h := licensing.NewHandler(memory.New(), opts)
				happen(t, h, 3)
				ahead.Store(int64(400 * 24 * time.Hour))
				happen(t, h, n)
				ahead.Store(0)
				defer begin(t, h)()
				time.Sleep(time.Hour)
				happen(t, h, 150)
				time.Sleep(47 * time.Hour)
				is.Equal(len(feed(t, h)), n+153) // the event after those of the future is not old
				happen(t, h, 2)
				time.Sleep(3 * time.Hour)
				is.Equal(len(feed(t, h)), 2)
			})
		})
	}
}
