// Program is a small program as a vendor ships it: a web server whose report
// needs a license. See package licensing/client.
//
//	go run ./example/program -url http://127.0.0.1:8080/licensing -key ABCDE-…
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		log.Fatal(err)
	}
}

// openLicense starts to check the license of this installation.
func openLicense(url, key, dir string, out io.Writer) (*client.Program, error) {
	id, err := client.RandomID(dir)
	if err != nil {
		return nil, err
	}
	lic, err := client.Open(client.ProgramOptions{
		URL: url, Key: key, ProductID: "atlas", Fingerprint: id,
		OnChange: func(s client.Status) { fmt.Fprintln(out, "license", s.Code) },
	})
	if err == nil {
		fmt.Fprintln(out, "license", lic.Status().Code)
	}
	return lic, err
}

// routes returns the pages of the program. The report needs the entitlement
// "export".
func routes(lic *client.Program) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /report", lic.Require("export")(http.HandlerFunc(report)))
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, lic.Metrics()) })
	mux.HandleFunc("GET /support", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, lic.Report()) })
	return mux
}

func report(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "the report") }

// run serves the program until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("program", flag.ContinueOnError)
	url := flags.String("url", "http://127.0.0.1:8080/licensing", "address of the licensing service")
	key := flags.String("key", os.Getenv("ATLAS_LICENSE_KEY"), "license key")
	dir := flags.String("dir", ".", "directory for the installation ID")
	addr := flags.String("addr", "127.0.0.1:8090", "address to serve the program at")
	if err := flags.Parse(args); err != nil {
		return err
	}
	lic, err := openLicense(*url, *key, *dir, out)
	if err != nil {
		return err
	}
	defer lic.Close()

	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "serving http://%s/\n", listener.Addr())
	server := &http.Server{Handler: routes(lic), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { server.Shutdown(context.Background()) })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
