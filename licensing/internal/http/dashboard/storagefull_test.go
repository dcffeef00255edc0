package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A fullStore has no room while it is full, as a store on a full disk.
type fullStore struct {
	store.Store
	full atomic.Bool
}

func (s *fullStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.full.Load() {
		return fmt.Errorf("sqlite: update: %w", store.ErrFull)
	}
	return s.Store.Update(ctx, fn)
}

// TestFullStorageKeepsTheForm: a form that cannot be saved for want of room says so, and keeps
// what was typed. Submitted again once there is room, it is saved once. The overview says that
// changes fail.
func TestFullStorageKeepsTheForm(t *testing.T) {
	is := is.New(t)
	st := &fullStore{Store: memory.New()}
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	mark := v.get("licenses/new").hidden("once")
	send := func() reply {
		return v.post("licenses/new", "once", mark, "name", "Ada Lovelace", "product_id", "atlas", "customer_id", "cus_7", "max_activations", "3", "count", "1")
	}
	st.full.Store(true)
	a := send()
	is.Equal(a.StatusCode, http.StatusServiceUnavailable)
	require.Contains(t, a.body, "The storage of the service is full; nothing was changed. Make room for it, and retry the request.", `value="Ada Lovelace"`, `value="cus_7"`, mark)
	require.Contains(t, s.log.String(), "request failed")
	require.Contains(t, v.get("").body, `<span class="vh">Problem: </span>Changes <span class="muted">fail: The storage of the service is full`)

	st.full.Store(false)
	is.Equal(send().StatusCode, http.StatusSeeOther)
	is.Equal(strings.Count(v.get("licenses").body, `<th scope="row"`), 1)
}
