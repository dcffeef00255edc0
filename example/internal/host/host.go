// Package host is a small web application that mounts the licensing service on
// the store of the calling command.
//
// Each file has one purpose and is meant to be read and copied: app.go mounts the
// handler, and receiver.go receives events and prints them. Package serving runs the
// server and shuts it down cleanly, and package mail mails license keys.
package host

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/seed-d8a106b4/licensekit/example/internal/serving"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/mail"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Backend is what a command adds to the application: its database.
type Backend struct {
	Program string // the name of the command
	Flag    string // its flag that names a database to keep, without the dash
	Usage   string // of that flag

	// Open opens the database that the flag names. If it names none, that is
	// a temporary one, which is gone when it is closed.
	Open func(ctx context.Context, name string) (*Database, error)
}

// A Database is an open store, with what the welcome says of it.
type Database struct {
	store.Store
	Close     func() error
	Temporary bool // gone when it is closed

	About string // where it is, in a line or two, without a secret
	Again string // the command that starts the application on it again; empty for a temporary one
}

// Main is the main function of a command. It serves until the process gets
// SIGINT or SIGTERM.
func Main(b Backend) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	err := Run(ctx, b, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, b.Program+":", err)
		os.Exit(1)
	}
}

// Run is the whole application: it serves until ctx ends. What a person should
// read goes to out, the log to logs.
func Run(ctx context.Context, b Backend, args []string, out, logs io.Writer) (err error) {
	set, err := parseSettings(b, args, logs)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, b.Program+": opening the database") // so that a host sees that it was compiled
	db, err := b.Open(ctx, set.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	ln, err := listen(set.addr, set.lan, out)
	if err != nil {
		return err
	}
	defer ln.Close() // for the returns before it serves

	logger := slog.New(slog.NewTextHandler(logs, nil))
	root := "http://" + ln.Addr().String()
	base := root + mount
	var h *licensing.Handler
	var subscribers []licensing.Subscriber
	if set.smtp != "" {
		server := mail.Server{Addr: set.smtp, From: set.mailFrom, User: os.Getenv("SMTP_USER"), Password: os.Getenv("SMTP_PASSWORD")}
		keys := mail.Keys{Licenses: func() *license.Service { return h.Service() }, Send: server.Send, Pages: root + account + "/"}
		subscribers = append(subscribers, keys.Subscriber())
	}
	h = licensing.NewHandler(db, licensing.Options{
		PublicURL: base, PortalURL: root + account, Logger: logger,
		// For the receiver in this process. Omit it in production, where
		// webhooks go to public addresses.
		Webhooks:    webhook.Options{AllowPrivate: true},
		Subscribers: subscribers,
	})

	w := welcome{Base: base, Database: db}
	if w.Fresh, err = isFresh(ctx, h); err != nil {
		return err
	}
	if set.seed && !w.Fresh {
		return errors.New("-seed is for a new database; this one already holds licenses or clients")
	}
	if w.Seeded = w.Fresh && (db.Temporary || set.seed); w.Seeded {
		if err := Seed(ctx, db.Store); err != nil {
			return err
		}
	}
	if w.Fresh || set.newClient != "" {
		if w.Credentials, err = issue(ctx, h.Auth(), set.newClient, set.products); err != nil {
			return err
		}
	}
	if w.SetupCode, err = setupCode(ctx, h.Operators()); err != nil {
		return err
	}
	hook, err := newReceiver(ctx, h.Webhooks(), "http://"+ln.Addr().String(), out)
	if err != nil {
		return err
	}
	if err := w.print(out); err != nil {
		return err
	}
	return serving.Until(ctx, []serving.Server{{Listener: ln, Handler: newApp(h, hook, logger)}}, h.Run, logger)
}
