// Program is a small program as a vendor ships it: it serves an export on this
// machine, for which a license is needed. Start it, cut it from the network,
// suspend its license, and uninstall it: the guide
// licensing/docs/programs.md says what to expect.
//
//	curl -o keys.json http://127.0.0.1:8080/licensing/file/keys
//	go run ./example/program -keys keys.json -key ABCDE-…
//	go run ./example/program -keys keys.json -activate
//	go run ./example/program -keys keys.json -export
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		log.Fatal(err)
	}
}

// routes returns the pages of the program. The export needs the entitlement
// "export"; everything else works without a license.
func routes(lic *program.License) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /export", func(w http.ResponseWriter, r *http.Request) {
		if !lic.Has("export") {
			w.WriteHeader(http.StatusForbidden)
			refusalPage.Execute(w, refusal(lic))
			return
		}
		fmt.Fprintln(w, "the export")
	})
	mux.HandleFunc("POST /check", func(w http.ResponseWriter, r *http.Request) {
		_ = lic.Refresh(r.Context()) // the status says what came of it
		http.Redirect(w, r, "/export", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(lic.Status())
	})
	return http.NewCrossOriginProtection().Handler(mux)
}

// refusalPage says why there is no export, and asks the service when the user has paid, for
// example, and does not want to wait.
var refusalPage = template.Must(template.New("refusal").Parse(`<!doctype html>
<title>Export</title>
<p>{{.}}</p>
<form method="post" action="/check"><button>Check again</button></form>
`))

// refusal says why there is no export.
func refusal(lic *program.License) string {
	return "The export needs a license. " + lic.Status().Message()
}

// show prints a status for the user.
func show(out io.Writer, s program.Status) {
	fmt.Fprintln(out, "license:", s.Message())
	for _, w := range s.Warnings {
		fmt.Fprintln(out, "  warning:", w.Detail)
	}
}

// activate lets the customer activate this installation in a browser, without a key.
func activate(ctx context.Context, lic *program.License, out io.Writer) error {
	link, err := lic.Link(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "approve the code %s at %s\n", link.Code, link.URL)
	if err := browse(link.URL); err != nil {
		fmt.Fprintln(out, "open this address in a browser:", err)
	}
	return link.Wait(ctx)
}

// browse opens a page in the browser of the user. The tests replace it.
var browse = func(url string) error {
	switch runtime.GOOS {
	case "windows":
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", url).Run()
	case "darwin":
		return exec.Command("open", url).Run()
	}
	return exec.Command("xdg-open", url).Run()
}

// run serves the program until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("program", flag.ContinueOnError)
	url := flags.String("url", "http://127.0.0.1:8080/licensing", "address of the licensing service")
	keys := flags.String("keys", "keys.json", "file with the public keys; a vendor embeds them")
	key := flags.String("key", "", "license key, which is stored")
	inBrowser := flags.Bool("activate", false, "activate this installation in the browser")
	dir := flags.String("dir", "", "directory for the license; by default below that of your configuration")
	addr := flags.String("addr", "127.0.0.1:8090", "address to serve the program at")
	takeOver := flags.Bool("take-over", false, "take the seat of another installation if none is free")
	export := flags.Bool("export", false, "print the export, and end")
	uninstall := flags.Bool("uninstall", false, "free the seat, and end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	jwks, err := os.ReadFile(*keys)
	if err != nil {
		return err
	}
	lic, err := program.Open(program.Options{
		URL: *url, Keys: jwks, ProductID: "atlas", Dir: *dir, OnChange: func(s program.Status) { show(out, s) },
	})
	if err != nil {
		return err
	}
	defer lic.Close()
	switch {
	case *uninstall:
		return lic.Release(ctx)
	case *key != "":
		err = lic.SetKey(ctx, *key)
	case *inBrowser:
		err = activate(ctx, lic, out)
	case *takeOver:
		err = lic.TakeOver(ctx)
	}
	if err != nil {
		fmt.Fprintln(out, err) // the program continues
	}
	if *export {
		if !lic.Has("export") {
			return errors.New(refusal(lic))
		}
		fmt.Fprintln(out, "the export")
		return nil
	}
	show(out, lic.Status())

	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "serving http://%s/export\n", listener.Addr())
	server := &http.Server{Handler: routes(lic), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { server.Shutdown(context.Background()) })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
