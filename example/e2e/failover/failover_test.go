//go:build unix

package failover

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
)

var rounds = flag.Int("rounds", 1, "how many failovers TestFailover has")

const (
	workers = 8                      // for each service
	waiting = 300 * time.Millisecond // how long the primary runs without the standby before it fails
	writing = 10 * time.Second       // after the promotion, changes succeed within this time
)

var drivers = []string{"pgx", "postgres"} // the latter is lib/pq

// A service is a handler with its own connections.
type service struct {
	*licensing.Handler
	db *sql.DB
}

func newService(t *testing.T, driver, dsn string) *service {
	t.Helper()
	is := is.New(t)
	db, err := sql.Open(driver, dsn)
	is.NoErr(err)
	db.SetMaxIdleConns(workers)
	t.Cleanup(func() { db.Close() })
	st, err := postgres.New(t.Context(), db, postgres.Options{})
	is.NoErr(err)
	return &service{licensing.NewHandler(st, licensing.Options{
		Logger: slog.New(slog.DiscardHandler), Limits: licensing.LimitOptions{ClientRate: -1, AddressRate: -1},
	}), db}
}

// send sends a request, and returns the status and the JSON of the answer.
func (s *service) send(method, path, token, body string) (int, map[string]any) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var answer map[string]any
	json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(&answer)
	return w.Code, answer
}

// token returns an access token for any of the services.
func (s *service) token(t *testing.T) string {
	t.Helper()
	is := is.New(t)
	c, secret, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n", Scopes: auth.Scopes()})
	is.NoErr(err)
	r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader("grant_type=client_credentials"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(c.ID, secret)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var answer struct {
		Token string `json:"access_token"`
	}
	is.NoErr(json.Unmarshal(w.Body.Bytes(), &answer))
	return answer.Token
}

// A load creates licenses and changes each several times, and remembers what was
// acknowledged.
type load struct {
	services []*service
	token    string
	stop     context.CancelFunc
	all      sync.WaitGroup

	answered atomic.Int64
	mu       sync.Mutex
	revision map[string]float64 // acknowledged, by license ID
	created  time.Time          // when a change was last acknowledged
	statuses map[int]int
}

func startLoad(t *testing.T, token string, services ...*service) *load {
	ctx, stop := context.WithCancel(t.Context())
	l := &load{services: services, token: token, stop: stop, revision: map[string]float64{}, statuses: map[int]int{}}
	for _, s := range services {
		for n := range workers {
			l.all.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					status, answer := l.change(s, "POST", "/license", fmt.Sprintf(`{"name":"%d-%d","product_id":"atlas","customer_id":"c"}`, n, i))
					if status != http.StatusCreated {
						time.Sleep(5 * time.Millisecond)
						continue
					}
					for range 2 {
						l.change(s, "PATCH", "/license/"+answer["id"].(string), fmt.Sprintf(`{"name":"%d"}`, i))
					}
				}
			})
		}
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) end() {
	l.stop()
	l.all.Wait()
}

// change sends a request that changes something.
func (l *load) change(s *service, method, path, body string) (int, map[string]any) {
	status, answer := s.send(method, path, l.token, body)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statuses[status]++
	if status < 300 {
		l.answered.Add(1)
		l.created = time.Now()
		id, revision := answer["id"].(string), answer["revision"].(float64)
		l.revision[id] = max(l.revision[id], revision)
	}
	return status, answer
}

// await waits until n more changes are acknowledged, and returns how long it took.
func (l *load) await(t *testing.T, n int64) time.Duration {
	t.Helper()
	begun, first := time.Now(), l.answered.Load()
	for l.answered.Load() < first+n {
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("no change is acknowledged: %v", l.statuses)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(begun)
}

// lost counts the acknowledged changes that a service does not have, and those
// without their event.
func (l *load) lost(t *testing.T, s *service) (lost int) {
	t.Helper()
	is := is.New(t)
	events := map[string]float64{}
	for after := ""; ; {
		page, err := s.Service().Events(t.Context(), api.ListEventsParams{After: after, Limit: 200})
		is.NoErr(err)
		for _, e := range page.Data {
			events[e.Subject]++
		}
		if after = page.NextCursor; !page.HasMore {
			break
		}
	}
	for id, revision := range l.revision {
		if got, err := s.Service().Get(t.Context(), id); err != nil || float64(got.Revision) < revision || events[id] < revision {
			lost++
		}
	}
	return lost
}

// TestFailover kills the primary, every other time after its connection to the
// standby has ended, promotes the standby, and makes the next one.
func TestFailover(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := newCluster(t, true)
	services := []*service{newService(t, drivers[0], c.dsn()), newService(t, drivers[1], c.dsn())}
	l := startLoad(t, services[0].token(t), services...)
	for round := range *rounds {
		c.follow()
		c.await(c.primary, `SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')`)
		l.await(t, 200)

		if round%2 == 0 {
			c.cut()
			time.Sleep(waiting)
		}
		c.primary.Stop(syscall.SIGKILL)
		for _, s := range services {
			is.Equal(s.Health(t.Context()).Status, "unavailable")
			is.Equal(s.Health(t.Context()).Problems[0].Code, licensing.HealthStore)
			status, _ := s.send("GET", "/ready", "", "")
			is.Equal(status, http.StatusServiceUnavailable)
		}

		begun := time.Now()
		c.promote()
		l.await(t, 1)
		took := time.Since(begun)
		require.Less(t, took, writing)
		for _, s := range services {
			is.Equal(s.Health(t.Context()).Status, "ready")
		}
		t.Logf("round %d: changes succeed %v after the promotion began", round+1, took.Round(time.Millisecond))
	}
	l.await(t, 100)
	l.end()
	lost := l.lost(t, services[0])
	t.Logf("%d rounds, %d changes acknowledged, lost: %d; statuses: %v", *rounds, l.answered.Load(), lost, l.statuses)
	is.Equal(lost, 0)
	for status := range l.statuses {
		is.True(status == 200 || status == 201 || status == 503)
	}
}

// TestAsynchronousStandbyLoses is why the standby must be synchronous, and that
// TestFailover notices what is lost.
func TestAsynchronousStandbyLoses(t *testing.T) {
	t.Parallel()
	c := newCluster(t, false)
	s := newService(t, drivers[0], c.dsn())
	l := startLoad(t, s.token(t), s)
	c.follow()
	l.await(t, 100)
	c.cut()
	l.await(t, 20)
	c.primary.Stop(syscall.SIGKILL)
	c.promote()
	l.await(t, 1)
	l.end()
	lost := l.lost(t, s)
	t.Logf("%d changes acknowledged, on %d licenses lost", l.answered.Load(), lost)
	require.Greater(t, lost, 0)
}

// TestReadOnlyConnections: a process whose connections lead to a server that became
// read-only writes to the other one, without a restart and without an error.
func TestReadOnlyConnections(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := newCluster(t, true)
	c.follow()
	c.await(c.primary, `SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')`)
	var services []*service
	for _, driver := range drivers {
		s := newService(t, driver, c.dsn())
		services = append(services, s)
		var open [workers / 2]*sql.Conn // fill the pool
		for i := range open {
			var err error
			open[i], err = s.db.Conn(t.Context())
			is.NoErr(err)
		}
		for _, conn := range open {
			is.NoErr(conn.Close())
		}
	}
	token := services[0].token(t)
	create := func(s *service) {
		t.Helper()
		status, _ := s.send("POST", "/license", token, `{"name":"n","product_id":"atlas","customer_id":"c"}`)
		is.Equal(status, http.StatusCreated)
	}
	for _, s := range services {
		create(s)
	}
	is.NoErr(c.primary.Shell(`psql "$PRIMARY" --command="ALTER SYSTEM SET default_transaction_read_only = on" --command="SELECT pg_reload_conf()"`, "PRIMARY="+c.primary.DSN()))
	time.Sleep(100 * time.Millisecond) // for the signal
	c.run(2)
	c.run(3)
	for _, s := range services {
		create(s)
	}
}

// TestCommitsThatWait: a change that the standby has not confirmed is never
// acknowledged, also if the driver gives up and cancels the COMMIT, which the server
// then reports as a success.
func TestCommitsThatWait(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := newCluster(t, true)
	c.follow()
	c.await(c.primary, `SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')`)
	var services []*service
	for _, driver := range drivers {
		services = append(services, newService(t, driver, c.dsn()))
	}
	token := services[0].token(t)
	c.cut()
	for i, s := range services {
		status, answer := s.send("POST", "/license", token, `{"name":"n","product_id":"atlas","customer_id":"c"}`)
		t.Logf("%s: %d %v", drivers[i], status, answer["code"])
		is.Equal(answer["code"], "outcome_unknown")
	}
}
