package linear

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/pgserver"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// rounds is how many rounds the short form has.
const rounds = 3

// speed is how fast the clocks are, so that leases end in a round.
const speed = 1000

// epoch is when the clocks of all processes showed the right time.
var epoch = time.Now().Round(0) // without a monotonic reading, which other processes do not have

// now is the time of the clocks, which each service has a little wrong.
func now() time.Time { return epoch.Add(speed * time.Since(epoch)) }

const (
	soldPlan  = "sold" // of purchases and trials
	firstYear = 2100   // in which licenses end that were not renewed
)

// options are those of a service whose clock is wrong: without limits of rates,
// which the model does not have.
func options(skew time.Duration) licensing.Options {
	return licensing.Options{
		Now:       func() time.Time { return now().Add(skew) },
		Logger:    slog.New(slog.DiscardHandler),
		Limits:    licensing.LimitOptions{ClientRate: -1, AddressRate: -1, KeyRate: -1},
		Tokens:    auth.TokenOptions{TTL: 24 * time.Hour},
		ClaimFrom: []string{"batch-key-of:"},
	}
}

// skews are those of the two services.
var skews = [2]time.Duration{-maxSkew * time.Millisecond, maxSkew * time.Millisecond}

// serve starts a service on a store.
func serve(t *testing.T, st store.Store, skew time.Duration) *address {
	server := httptest.NewServer(licensing.NewHandler(st, options(skew)))
	t.Cleanup(server.Close)
	var a address
	a.set(server.URL)
	return &a
}

// openStore opens a file of SQLite, or with the driver pgx a database of
// PostgreSQL, until the test ends.
func openStore(t *testing.T, driver, source string) store.Store {
	t.Helper()
	st, stop, err := openSource(t.Context(), driver, source)
	is.New(t).NoErr(err)
	t.Cleanup(stop)
	return st
}

// openSource is openStore for a process that is not a test.
func openSource(ctx context.Context, driver, source string) (st store.Store, stop func(), err error) {
	if driver == "sqlite" {
		st, err := sqlite.Open(source)
		if err != nil {
			return nil, nil, err
		}
		return st, func() { st.Close() }, nil
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, nil, err
	}
	st, err = postgres.New(ctx, db, postgres.Options{})
	return st, func() { db.Close() }, err
}

// startPostgres starts a PostgreSQL server, or skips the test.
func startPostgres(t *testing.T) (dsn string) {
	t.Helper()
	is := is.New(t)
	server, err := pgserver.New("fsync=off", "full_page_writes=off")
	if errors.Is(err, pgserver.ErrNotInstalled) {
		t.Skip(err)
	}
	is.NoErr(err)
	t.Cleanup(func() { server.Remove() })
	is.NoErr(server.Start())
	return server.DSN()
}

// newToken creates a client and the plan of purchases and trials in a store, and
// returns a token of the client.
func newToken(t *testing.T, st store.Store) string {
	t.Helper()
	is := is.New(t)
	h := licensing.NewHandler(st, options(0))
	c, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n", Scopes: auth.Scopes()})
	is.NoErr(err)
	_, err = h.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: soldPlan, ProductID: "p", Duration: api.Duration{Years: 10}})
	is.NoErr(err)
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/oauth/token", strings.NewReader("grant_type=client_credentials"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(c.ID, secret)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var answer struct {
		Token string `json:"access_token"`
	}
	is.NoErr(json.Unmarshal(w.Body.Bytes(), &answer))
	return answer.Token
}

// search checks the history of a round.
func search(history []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model, history, 20*time.Second)
}

// check is search, and fails the test if a history is impossible. It then prints the
// requests about each subject whose history is, and the longest beginning that is
// possible, by the times at which requests were sent.
func check(t *testing.T, history []porcupine.Operation) porcupine.CheckResult {
	t.Helper()
	result := search(history)
	if result != porcupine.Illegal {
		return result
	}
	for _, ops := range model.Partition(history) {
		found, info := porcupine.CheckOperationsVerbose(model, ops, 20*time.Second)
		if found != porcupine.Illegal {
			continue
		}
		var longest []int64
		for _, o := range slices.Concat(info.PartialLinearizationsOperations()...) {
			if len(o) > len(longest) {
				longest = longest[:0]
				for _, op := range o {
					longest = append(longest, op.Call)
				}
			}
		}
		var text strings.Builder
		slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		for _, op := range ops {
			fmt.Fprintf(&text, "%d-%d client %d %+v: %v\n", op.Call, op.Return, op.ClientId, op.Input, op.Output)
		}
		t.Errorf("the history is not linearizable; the longest beginning that is: %v\n%s", longest, &text)
	}
	return result
}

// TestTwoServices sends requests to two services on one store.
func TestTwoServices(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		testTwoServices(t, "sqlite", filepath.Join(t.TempDir(), "licenses.db"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		testTwoServices(t, "pgx", startPostgres(t))
	})
}

func testTwoServices(t *testing.T, driver, source string) {
	is := is.New(t)
	one, two := openStore(t, driver, source), openStore(t, driver, source)
	g := newGroup(t, newToken(t, one), serve(t, one, skews[0]), serve(t, two, skews[1]))
	for n := 0; n < rounds || n < 5*rounds && len(g.missing()) > 0; n++ {
		is.Equal(check(t, g.round()), porcupine.Ok)
	}
	t.Log(g.answers)
	is.Equal(g.missing(), nil)
}

// missing returns what matters and was in no history.
func (g *group) missing() (answers []string) {
	for _, answer := range []string{
		"create 201", "create 409", "create lost", "update 200", "update 412", "update lost", "suspend 200", "reinstate 200",
		"delete 200", "renew 200", "activate 200", "activate 409", "activate lost", "take over 200", "release 200",
		"put plan 200", "put plan 412", "delete plan 200", "fulfill 200", "fulfill 201", "trial 200", "trial 201", "trial 409",
		"batch 201", "claim 200", "claim 409", "unclaimed 200",
	} {
		if g.answers[answer] == 0 {
			answers = append(answers, answer)
		}
	}
	return answers
}
