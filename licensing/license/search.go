package license

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/catalog"
	"github.com/seed-d8a106b4/licensekit/store"
)

// search returns a page of the licenses that p selects by words. Its order is
// that of the index, and it has cursors of its own.
func (s *Service) search(ctx context.Context, p ListParams) (IndexedPage[License], error) {
	start := searchCursor{scope: s.scope(p), pinned: s.now()}
	if p.Cursor != "" {
		var ok bool
		if start, ok = parseSearchCursor(p.Cursor, start.scope); !ok {
			return IndexedPage[License]{}, errCursor
		}
	}
	q := p.query(start.pinned)
	if p.Cursor == "" {
		var recs []store.License
		err := s.view(ctx, func(r store.Reader) (err error) {
			recs, err = s.lookUp(ctx, r, p.Search, q)
			return err
		})
		if err != nil {
			return IndexedPage[License]{}, fmt.Errorf("search licenses: %w", err)
		}
		if len(recs) > 0 {
			return s.page(p, recs, start.pinned)
		}
	}
	if p.ProductID != "" && !s.sees(p.ProductID) {
		return IndexedPage[License]{Page: Page[License]{Data: []License{}}}, nil
	}
	q.Limit = p.Limit
	var found catalog.Page
	lag, err := s.catalog.Answer(ctx, s.within(), func(in catalog.Snapshot) (err error) {
		var ok bool
		found, ok, err = in.Find(ctx, catalog.Search{
			Text: p.Search, Keys: p.SearchKeys, Where: q, After: start.after, Back: start.back,
			Sees: func(rec store.License) bool { return s.sees(rec.ProductID) },
		})
		if err == nil && !ok {
			err = errCursor
		}
		return err
	})
	if errors.Is(err, errCursor) {
		return IndexedPage[License]{}, errCursor
	}
	if err != nil {
		return IndexedPage[License]{}, fmt.Errorf("search licenses: %w", err)
	}
	if start.back && len(found.Licenses) == 0 && found.Prev == "" { // the licenses before the position are gone
		p.Cursor = ""
		return s.search(ctx, p)
	}
	page, err := s.page(p, found.Licenses, start.pinned)
	if err != nil {
		return IndexedPage[License]{}, err
	}
	if found.Next != "" {
		start.after, start.back = found.Next, false
		page.HasMore, page.NextCursor = true, start.String()
	}
	if found.Prev != "" {
		start.after, start.back = found.Prev, true
		page.PrevCursor = start.String()
	} else if len(found.Licenses) == 0 && found.Next == "" && start.after != "" { // the licenses after the position are gone
		start.after, start.back = start.after+"\x01", true // the page before includes the position
		page.PrevCursor = start.String()
	}
	page.Indexing = s.indexing(ctx, lag)
	return page, nil
}

// The first byte of a cursor of a search.
const (
	searchAfter  = 3 // the page after the position
	searchBefore = 4 // the page before it
)

// A searchCursor is the position where the next page of a search begins, or
// before which the previous page ends.
type searchCursor struct {
	scope  [16]byte  // as in cursor
	pinned time.Time // when the first page was read
	after  string    // the position in the index
	back   bool      // the page before the position
}

// String encodes c in base64url: version, scope, time in milliseconds, and the
// position.
func (c searchCursor) String() string {
	version := byte(searchAfter)
	if c.back {
		version = searchBefore
	}
	b := append([]byte{version}, c.scope[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(unixMillis(c.pinned)))
	return base64.RawURLEncoding.EncodeToString(append(b, c.after...))
}

// parseSearchCursor decodes a cursor if it has the given scope. Nothing in it is
// trusted: words, filters and the product limit apply again on every page.
func parseSearchCursor(text string, scope [16]byte) (c searchCursor, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 26 || b[0] != searchAfter && b[0] != searchBefore || [16]byte(b[1:17]) != scope {
		return searchCursor{}, false
	}
	c = searchCursor{scope: scope, pinned: fromMillis(int64(binary.BigEndian.Uint64(b[17:]))), after: string(b[25:]), back: b[0] == searchBefore}
	return c, valid.IsInstant(c.pinned) && c.String() == text
}
