package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// officeLease is the lease of the seats that an office lends, in seconds.
const officeLease = 60 * 60

// office lends the seats of a license on a network without internet until ctx ends or,
// with --seats, prints the request for them.
func office(ctx context.Context, args []string, out io.Writer) (err error) {
	set := settings.New(name+" office FLAGS", os.Stdout)
	addr := set.String("addr", "127.0.0.1:8181", "the host:port to listen on")
	keyFile := set.String("office-key-file", "office.key", "a file with the signing key of the office, which is created if it is missing")
	licenseFile := set.String("license-key-file", "", "a file with the license key")
	answerFile := set.String("answer-file", "", "the file that the vendor returned for the request")
	seats := set.String("seats", "", "print the request for this number of seats, to take to the vendor, and exit; with --store and --answer-file, it has the usage")
	rest, err := set.Parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return &settings.Error{Text: "office has flags only; see " + name + " office -help"}
	}
	licenseKey := set.File("license-key-file", *licenseFile)
	wanted, err := strconv.ParseInt(*seats, 10, 64)
	if *seats != "" && (err != nil || wanted < 1) {
		set.Reject("seats", "must be a whole number from 1 on")
	}
	var store, answer string
	options := set.MasterKeys()
	first := *seats != "" && *answerFile == ""
	if !first {
		store, answer = set.Store(), set.File("answer-file", *answerFile)
		rejectAddr(set, "addr", *addr)
	}
	if err := set.Err(); err != nil {
		return err
	}
	key, err := officeKey(*keyFile)
	if err != nil {
		return err
	}
	if first {
		text, err := licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: wanted, KeyHash: licensefile.KeyHash(licenseKey)}, key)
		if err == nil {
			_, err = fmt.Fprintln(out, text)
		}
		return err
	}

	options.SigningKeys = []files.SigningKey{{Signer: key, Office: answer}}
	if err := options.Validate(); err != nil {
		return err
	}
	lender, err := licensefile.NewLender(answer, key)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	slog.SetDefault(logger)
	db, err := openServed(ctx, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	h := licensing.NewHandler(db, options)
	if *seats != "" {
		text, err := h.Files().OfficeRequest(ctx, licenseKey, wanted)
		if err == nil {
			_, err = fmt.Fprintln(out, text)
		}
		return err
	}
	if err := putLicense(ctx, h, lender.Claims, licenseKey); err != nil {
		return err
	}
	s := &server{addr: *addr, handler: routes(h, nil)}
	if err := s.listen(); err != nil {
		return err
	}
	defer s.listener.Close() // for the returns before it serves
	logger.Info("office listens", "address", s.listener.Addr().String(), "seats", lender.Claims.Office.Seats, "until", lender.Claims.ExpiresAt)
	return serveUntil(ctx, []*server{s}, h.Run, logger)
}

// officeKey reads the signing key of the office, and creates it if the file is missing.
func officeKey(file string) (crypto.Signer, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			return nil, err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		return key, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	} else if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s has no private key in PEM", file)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	signer, ok := key.(crypto.Signer)
	if err == nil && !ok {
		err = licensefile.ErrKeyType
	}
	return signer, err
}

// putLicense puts the license into the store of the office, with as many activations as
// the office has seats, and with the meters of the vendor.
func putLicense(ctx context.Context, h *licensing.Handler, c licensefile.Claims, key string) error {
	l, err := h.Service().Get(ctx, c.LicenseID)
	if err == nil {
		_, err = h.Service().Update(ctx, api.UpdateLicenseParams{
			ID: c.LicenseID, MaxActivations: api.To(c.Office.Seats), Meters: api.To(meterChanges(l.Meters, c.Office.Meters)),
		})
	}
	if !errors.Is(err, api.ErrNotFound) {
		return err
	}
	row, err := json.Marshal(map[string]any{
		"id": c.LicenseID, "key": key, "name": c.Name, "product_id": c.ProductID, "customer_id": "office",
		"max_activations": c.Office.Seats, "lease_seconds": officeLease, "meters": c.Office.Meters,
	})
	if err != nil {
		return err
	}
	return h.Service().Import(ctx, bytes.NewReader(row), func(r api.RowResult) error {
		if len(r.Errors) > 0 {
			return fmt.Errorf("the license of the office: %s %s", r.Errors[0].Field, r.Errors[0].Detail)
		}
		return nil
	})
}

// meterChanges replaces the meters of a license with those of the vendor.
func meterChanges(from map[string]api.Meter, to map[string]licensefile.Meter) map[string]*api.MeterChange {
	changes := map[string]*api.MeterChange{}
	for name := range from {
		changes[name] = nil
	}
	for name, m := range to {
		c := &api.MeterChange{Limit: api.ToNull[int64](), Soft: &m.Soft, Per: api.ToNull[api.MeterPeriod]()}
		if m.Limit != nil {
			c.Limit = api.To(*m.Limit)
		}
		if m.Per != "" {
			c.Per = api.To(api.MeterPeriod(m.Per))
		}
		changes[name] = c
	}
	return changes
}
