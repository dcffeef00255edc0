package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// ExportLicenses returns the selected licenses with their keys, as the
// response arrives. An error ends the loop; without one, the export is
// complete. Once the first row has arrived, nothing is retried.
func (c *Client) ExportLicenses(ctx context.Context, p api.ExportLicensesParams) iter.Seq2[api.LicenseRow, error] {
	return stream[api.LicenseRow](ctx, c, "GET /export/license", 0, p)
}

// ExportLicensesCSV writes the selected licenses with their keys to w, as CSV for
// spreadsheets. Its errors are those of [Client.ExportCustomer].
func (c *Client) ExportLicensesCSV(ctx context.Context, w io.Writer, p api.ExportLicensesParams) error {
	return c.download(ctx, w, "GET /export/license.csv", "text/csv", p)
}

// ImportLicenses adds licenses and returns the result of each row, as the
// response arrives. Rows whose ID or Key exists leave that license unchanged,
// so that an import of rows with IDs or keys can be repeated after a failure;
// ImportLicenses does not do so by itself. The rows may have 16 MiB as JSON,
// unless the service has another limit. After 1,000 refused rows the service
// stops, and the last result is "stopped".
func (c *Client) ImportLicenses(ctx context.Context, rows []api.LicenseRow) iter.Seq2[api.RowResult, error] {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	for i, row := range rows {
		if err := encoder.Encode(members(row)); err != nil {
			return func(yield func(api.RowResult, error) bool) {
				yield(api.RowResult{}, fmt.Errorf("POST /import/license: row %d: %w", i+1, err))
			}
		}
	}
	return stream[api.RowResult](ctx, c, "POST /import/license", single, ndjson(body.Bytes()))
}

// ndjson is a body of one JSON object per line.
type ndjson []byte

// errStopped ends an attempt whose caller has left the loop.
var errStopped = errors.New("the loop has ended")

// stream sends an operation whose response is one JSON object per line.
func stream[T any](ctx context.Context, c *Client, operation string, f flags, params any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		begun := false
		err := c.do(ctx, operation, f|streamed, params, func(resp *http.Response) error {
			if mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); mediaType != "application/x-ndjson" {
				return unexpected(operation, resp, "the response is not NDJSON")
			}
			for d := json.NewDecoder(resp.Body); ; {
				var row T
				switch err := d.Decode(&row); {
				case errors.Is(err, io.EOF):
					return nil
				case err != nil && begun:
					return &finalError{fmt.Errorf("%s: %w", operation, err)}
				case err != nil:
					return fmt.Errorf("%s: %w", operation, err)
				}
				begun = true
				if !yield(row, nil) {
					return &finalError{errStopped}
				}
			}
		})
		if final, ok := errors.AsType[*finalError](err); ok {
			err = final.error
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(*new(T), err)
		}
	}
}

// download sends an operation and writes its response to w.
func (c *Client) download(ctx context.Context, w io.Writer, operation, mediaType string, params any) error {
	err := c.do(ctx, operation, streamed, params, func(resp *http.Response) error {
		if got, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); got != mediaType {
			return unexpected(operation, resp, "the response is not "+mediaType)
		}
		n, err := io.Copy(w, resp.Body)
		if err != nil {
			err = fmt.Errorf("%s: %w", operation, err)
		}
		if err != nil && n > 0 {
			return &finalError{err}
		}
		return err
	})
	if final, ok := errors.AsType[*finalError](err); ok {
		err = final.error
	}
	return err
}

// A finalError must not be retried.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }
