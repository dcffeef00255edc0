package license_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// followFeed calls handle for each event after the cursor and returns the cursor
// to continue at, which the caller stores. An empty cursor starts at the oldest
// event.
func followFeed(ctx context.Context, s *license.Service, after string, handle func(api.Event) error) (string, error) {
	for {
		page, err := s.Events(ctx, api.ListEventsParams{After: after, Types: []string{"license.*"}, Limit: 2}) // at most 200
		if errors.Is(err, api.ErrCursorGone) {
			return "", err // start over with an empty cursor, and skip the ids that are known
		}
		if err != nil {
			return after, err
		}
		for _, e := range page.Data {
			if err := handle(e); err != nil {
				return after, err // this page is read again
			}
		}
		after = page.NextCursor // present at the end of the feed too
		if !page.HasMore {
			return after, nil
		}
	}
}

// A consumer reads the feed page by page, stores its cursor, and later
// continues there.
func ExampleService_Events() {
	ctx := context.Background()
	s := exampleService()
	show := func(e api.Event) error {
		fmt.Println(e.Type, e.CustomerID)
		return nil
	}
	create := func(customerID string) {
		if _, err := s.Create(ctx, api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: customerID}); err != nil {
			panic(err)
		}
	}

	for _, customerID := range []string{"ada", "grace", "edsger"} {
		create(customerID)
	}
	cursor, err := followFeed(ctx, s, "", show)
	fmt.Println(err)
	create("barbara")
	_, err = followFeed(ctx, s, cursor, show)
	fmt.Println(err)
	// Output:
	// license.created ada
	// license.created grace
	// license.created edsger
	// <nil>
	// license.created barbara
	// <nil>
}
