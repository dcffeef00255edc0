// Command example is a small web application with a page of its own that has
// mounted the licensing service under /licensing/.
//
//	go run ./example
//
// It starts with a temporary database, a few dozen licences and one API
// client, and prints what is needed to talk to the service. Ctrl-C ends it,
// and nothing stays behind. The flags:
//
//	-addr 127.0.0.1:8080   where to listen; if the port is taken, the next free one
//	-db licenses.db        keep the database in this file
//	-new-client NAME       issue credentials for another API client
//	-products a,b          and limit that client to these products
//
// The files are one concern each, and are meant to be read and copied: app.go
// mounts the handler, serve.go runs the server and stops it in good order,
// receiver.go gets the events of what happens, and prints them.
package main

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

	"github.com/seed-d8a106b4/licensekit/licensing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// run is the whole program: it serves until ctx ends. What a person should
// read goes to out, the log to logs.
func run(ctx context.Context, args []string, out, logs io.Writer) (err error) {
	set, err := parseSettings(args, logs)
	if err != nil {
		return err
	}
	db, err := openDatabase(set.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	ln, err := listen(set.addr, out)
	if err != nil {
		return err
	}
	defer ln.Close() // for the returns before serve, which closes it itself

	logger := slog.New(slog.NewTextHandler(logs, nil))
	base := "http://" + ln.Addr().String() + mount
	h := licensing.NewHandler(db, licensing.Options{
		PublicURL: base, Logger: logger,
		// For the receiver in this very process. Leave it out where webhooks
		// lead to the world.
		Webhooks: licensing.WebhookOptions{AllowPrivate: true},
	})

	w := welcome{Base: base, File: set.db}
	if w.Fresh, err = isFresh(ctx, h); err != nil {
		return err
	}
	if w.Fresh {
		if err := seed(ctx, h.Service()); err != nil {
			return err
		}
	}
	if w.Fresh || set.newClient != "" {
		if w.Credentials, err = issue(ctx, h.Auth(), set.newClient, set.products); err != nil {
			return err
		}
	}
	if w.SetupCode, err = setupCode(ctx, h.Auth()); err != nil {
		return err
	}
	hook, err := newReceiver(ctx, h.Service(), "http://"+ln.Addr().String(), out)
	if err != nil {
		return err
	}
	if err := w.print(out); err != nil {
		return err
	}
	return serve(ctx, ln, newApp(h, hook, logger), h.Run, out, logger)
}
