// Command licensekit runs the licensing service, and does what its operators need, on a
// SQLite file or a PostgreSQL database:
//
//	licensekit serve --store licenses.db
//	licensekit create-client --store licenses.db shop license:read,license:write
//	licensekit backup --store postgres://licensekit@db/licensekit archive.ndjson
//
// Each flag is also read from the environment, as LICENSEKIT_STORE. It exits with 2 if a
// flag or an argument is wrong, and with 1 if a command fails. No message has the URL of
// a database, which may have a password.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	_ "time/tzdata" // the image has no files of time zones

	"github.com/seed-d8a106b4/licensekit/example/internal/admin"
	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

const name = "licensekit"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	var wrong *settings.Error
	switch err := run(ctx, os.Args[1:]); {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, &wrong):
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{"help"}
	}
	switch args[0] {
	case "serve":
		return serve(ctx, args[1:])
	case "office":
		return office(ctx, args[1:], os.Stdout)
	case "config":
		return printConfig(args[1:], os.Stdout)
	case "health":
		return askHealth(ctx, args[1:])
	case "version", "-version", "--version":
		fmt.Println(name, api.ModuleVersion(), runtime.Version())
		return nil
	case "help", "-h", "-help", "--help":
		fmt.Printf("Usage: %s COMMAND FLAGS ARGUMENTS\n\n  %-31s %s\n", name, "serve", "run the service")
		fmt.Printf("  %-31s %s\n", "office", "lend the seats of a license on a network without internet")
		fmt.Printf("  %-31s %s\n", "config", "print all settings of a configuration file")
		fmt.Printf("  %-31s %s\n", "health", "ask the service on this machine whether it is ready")
		fmt.Printf("  %-31s %s\n", "version", "print the version")
		admin.Usage(os.Stdout)
		fmt.Printf("\nThe flags of a command: %s COMMAND -help\n", name)
		return nil
	}
	return admin.Run(ctx, name, openExisting, args, os.Stdout, os.Stderr)
}
