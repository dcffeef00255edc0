package licensing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// serveUntil serves h on ln until ctx ends. It then finishes the requests in
// flight and the background work. The caller closes the store afterwards.
func serveUntil(ctx context.Context, ln net.Listener, h *licensing.Handler) error {
	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { h.Run(running) })
	defer work.Wait()
	defer stop() // after the requests, whose events Run can still deliver

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(ln) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return server.Shutdown(bounded)
}

// serveHealth answers a monitor with the state of the service. It asks for no
// token: serve it on a port of its own, such as 127.0.0.1:9090.
func serveHealth(h *licensing.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		state := h.Health(ctx)
		w.Header().Set("Content-Type", "application/json")
		if state.Status != "ready" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(state)
	})
}

// A monitor reads the problems without a token.
func ExampleHandler_Health() {
	h := licensing.NewHandler(memory.New(), quiet)
	w := httptest.NewRecorder()
	serveHealth(h).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	var state licensing.Health
	if err := json.NewDecoder(w.Body).Decode(&state); err != nil {
		panic(err)
	}
	fmt.Println(w.Code, state.Status, state.Problems)
	// Output: 200 ready []
}

// A server ends without losing a request. In a program, ctx is that of
// signal.NotifyContext for SIGINT and SIGTERM.
func ExampleHandler_server() {
	ctx, stop := context.WithCancel(context.Background())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	h := licensing.NewHandler(memory.New(), quiet) // or the store that sqlite.Open returns
	served := make(chan error)
	go func() { served <- serveUntil(ctx, ln, h) }()

	resp, err := http.Get("http://" + ln.Addr().String() + "/licensing/ready")
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	stop()
	fmt.Println(<-served)
	// Output:
	// 200 OK
	// <nil>
}
