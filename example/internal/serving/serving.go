// Package serving runs HTTP servers and background work, and ends both cleanly.
package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// grace is how long requests in flight may take to finish.
const grace = 20 * time.Second

// A Server answers requests on a listener.
type Server struct {
	Listener net.Listener
	Handler  http.Handler
	TLS      *tls.Config // nil: plain HTTP
}

// Until answers requests and does work until ctx ends. Then it stops accepting
// requests, waits for those in flight, and stops work, which meanwhile handles what
// they changed. The caller closes the store.
func Until(ctx context.Context, servers []Server, work func(context.Context) error, logger *slog.Logger) error {
	working, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := work(working); err != nil && !errors.Is(err, context.Canceled) {
			logger.Error("background work ended", "error", err)
		}
	})
	defer wg.Wait()
	defer stopWork()

	failed := make(chan error, len(servers))
	running := make([]*http.Server, len(servers))
	for i, s := range servers {
		running[i] = &http.Server{
			Handler:           s.Handler,
			TLSConfig:         s.TLS,
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       30 * time.Second,
			WriteTimeout:      60 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    16 << 10,
			ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		}
		go func() {
			if s.TLS != nil {
				failed <- running[i].ServeTLS(s.Listener, "", "")
				return
			}
			failed <- running[i].Serve(s.Listener)
		}()
	}
	notify("READY=1", logger)

	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	notify("STOPPING=1", logger)
	logger.Info("stopping", "grace", grace.String())
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for _, s := range running {
		if cut := s.Shutdown(bounded); cut != nil {
			err = errors.Join(err, fmt.Errorf("requests still in flight after %v were cut off: %w", grace, cut), s.Close())
		}
	}
	if err == nil {
		logger.Info("stopped: every request was answered")
	}
	return err
}

// notify tells systemd, if it started the process with Type=notify.
func notify(state string, logger *slog.Logger) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	conn, err := net.Dial("unixgram", socket)
	if err == nil {
		_, err = conn.Write([]byte(state))
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		logger.Warn("systemd was not notified", "state", state, "error", err)
	}
}
