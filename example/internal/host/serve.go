package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// grace is how long requests in flight may take to finish.
const grace = 20 * time.Second

// serve serves h on ln and runs work concurrently until ctx ends. Then it stops
// accepting requests, waits for those in flight, and finally stops work. The
// caller closes the store afterwards.
func serve(ctx context.Context, ln net.Listener, h http.Handler, work func(context.Context) error, out io.Writer, logger *slog.Logger) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()

	working, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := work(working); err != nil && !errors.Is(err, context.Canceled) {
			logger.Error("background work ended", "error", err)
		}
	})
	defer wg.Wait()
	defer stopWork()

	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	fmt.Fprintln(out, "\nStopping: finishing the requests in flight.")
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(bounded); err != nil {
		return errors.Join(fmt.Errorf("requests still in flight after %v were cut off: %w", grace, err), srv.Close())
	}
	stopWork()
	wg.Wait()
	fmt.Fprintln(out, "Stopped: every request was answered.")
	return nil
}
