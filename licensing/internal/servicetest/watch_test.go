package servicetest

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A heldStore holds each View until the test releases it.
type heldStore struct {
	store.Store
	held, release chan struct{}
}

func (s heldStore) View(ctx context.Context, fn func(store.Reader) error) error {
	select {
	case s.held <- struct{}{}:
	default:
	}
	<-s.release
	return s.Store.View(ctx, fn)
}

func TestAnAnswerDoesNotWaitForTheWatch(t *testing.T) {
	is := is.New(t)
	st := heldStore{memory.New(), make(chan struct{}, 1), make(chan struct{})}
	clock := licensingtest.NewClock()
	address := serve(t, licensing.NewHandler(st, licensing.Options{Now: clock.Now, Logger: discard}))
	release := sync.OnceFunc(func() { close(st.release) })
	defer release()
	client := http.Client{Timeout: 5 * time.Second}
	ask := func() {
		resp, err := client.Get("http://" + address + "/health")
		is.NoErr(err)
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		is.NoErr(err)
	}
	ask()
	clock.Advance(2 * time.Minute)
	ask() // the watch looks, and the store does not answer it
	<-st.held
	release()
}
