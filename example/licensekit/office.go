package main

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d8a106b4/licensekit/example/internal/serving"
	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// office lends the seats of a license on a network without internet until ctx ends or,
// with --seats, prints the request for them.
func office(ctx context.Context, args []string, out io.Writer) (err error) {
	set := settings.New(name+" office FLAGS", os.Stdout)
	set.AddStore()
	set.String("addr", "", "the host:port to listen on; default: 127.0.0.1:8181")
	cert, certKey := tlsFlags(set)
	keyFile := set.String("office-key-file", "office.key", "a file with the signing key of the office, which is created if it is missing")
	licenseFile := set.String("license-key-file", "license.key", "a file with the license key, which the setup page writes")
	answerFile := set.String("answer-file", "office.license", "the file that the vendor returned for the request, which the setup page writes; the office reads it again when it changes")
	seats := set.String("seats", "", "print the request for this number of seats, to take to the vendor, and exit; once there is an answer, it reports usage and needs --store")
	if err := set.ParseFlags(args); err != nil {
		return err
	}
	keys := set.Config("Options").Options
	o := &officeService{
		options: licensing.Options{MasterKey: keys.MasterKey, PreviousMasterKeys: keys.PreviousMasterKeys}, keyFile: *licenseFile, answerFile: *answerFile,
	}
	if *seats != "" {
		return o.printRequest(ctx, set, *keyFile, *seats, out)
	}

	config := readTLS(set, *cert, *certKey)
	c := set.Config("Store")
	rejectAddr(set, "Addr", c.Addr)
	if err := set.Err(); err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	slog.SetDefault(logger)
	if _, err := os.Stat(*keyFile); errors.Is(err, fs.ErrNotExist) {
		logger.Info("the office gets a new signing key; back it up", "file", *keyFile)
	}
	if o.signer, err = officeKey(*keyFile); err != nil {
		return err
	}
	db, err := openServed(ctx, c.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := o.start(ctx, db); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return err
	}
	defer listener.Close() // for the returns before it serves
	logger.Info("office listens", "address", listener.Addr().String(), "tls", config != nil, "page", officePage)
	if config == nil && !onLoopback(c.Addr) {
		logger.Warn("license keys are sent without TLS, and browsers on other machines cannot sign in; set --tls-cert and --tls-key, or put the office behind a proxy with TLS")
	}
	sayHowToSetUp(ctx, o.current.Load().Handler, logger, "--store STORE")
	return serving.Until(ctx, []serving.Server{{Listener: listener, Handler: o, TLS: config}}, o.run, logger)
}

// printRequest writes the request for seats to out.
func (o *officeService) printRequest(ctx context.Context, set *settings.Set, keyFile, seats string, out io.Writer) error {
	wanted, err := readSeats(seats)
	if err != nil {
		set.Reject("seats", err.Error())
	}
	answer, err := o.readAnswer(o.answerFile)
	if err != nil {
		set.Reject("answer-file", err.Error())
	}
	store := ""
	if answer != "" {
		store = set.Config("Store").Store
	}
	set.ReadFile("license-key-file", o.keyFile)
	if err := set.Err(); err != nil {
		return err
	}
	if o.signer, err = officeKey(keyFile); err != nil {
		return err
	}
	if answer != "" {
		db, err := openServed(ctx, store)
		if err != nil {
			return err
		}
		defer db.Close()
		o.store = db
		claims, err := o.read(answer)
		if err != nil {
			return err
		}
		o.current.Store(o.with(answer, claims))
	}
	text, err := o.request(ctx, wanted)
	if err == nil {
		_, err = fmt.Fprintln(out, text)
	}
	return err
}

// officeKey reads the signing key of the office, and creates it if the file is missing.
func officeKey(file string) (crypto.Signer, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			return nil, err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		return key, writeSecret(file, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
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

// readSecret returns the text of a file, without the white space around it; "" if the
// file is missing.
func readSecret(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// writeSecret writes a file that only its owner may read. A process that ends meanwhile
// leaves the earlier file.
func writeSecret(file, text string) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".office-*") // with the mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
