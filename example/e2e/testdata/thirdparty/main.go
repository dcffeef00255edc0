// Command thirdparty is a program by a third party: it keeps licenses in a
// backend of its own, and mounts the service in the router of its choice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"example.com/thirdparty/mapstore"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

func main() {
	router := flag.String("router", "servemux", "servemux, chi, echo or gin")
	addr := flag.String("addr", "127.0.0.1:8090", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *router, *addr); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, router, addr string) error {
	mount, ok := mounts[router]
	if !ok {
		return errors.New("there is no router " + router)
	}
	h := licensing.NewHandler(mapstore.New(), licensing.Options{})
	client, secret, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "first"})
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/licensing with client_id %s and client_secret %s\n", addr, client.ID, secret)

	srv := &http.Server{Addr: addr, Handler: mount(h), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { srv.Shutdown(context.WithoutCancel(ctx)) })
	go h.Run(ctx)
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
