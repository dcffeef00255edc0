package main

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

// A server answers requests at one address.
type server struct {
	addr     string
	handler  http.Handler
	tls      *tls.Config // nil: plain HTTP
	listener net.Listener
}

func (s *server) listen() (err error) {
	s.listener, err = net.Listen("tcp", s.addr)
	return err
}

// serveUntil answers requests and does work until ctx ends. Then it stops accepting
// requests, waits for those in flight, and stops work, which until then handles what
// they changed. The caller closes the store.
func serveUntil(ctx context.Context, servers []*server, work func(context.Context) error, logger *slog.Logger) error {
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
			Handler:           s.handler,
			TLSConfig:         s.tls,
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       30 * time.Second,
			WriteTimeout:      60 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    16 << 10,
			ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		}
		go func() {
			if s.tls != nil {
				failed <- running[i].ServeTLS(s.listener, "", "")
				return
			}
			failed <- running[i].Serve(s.listener)
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
