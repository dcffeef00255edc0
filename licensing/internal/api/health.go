package api

import (
	"context"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
)

type health struct {
	Status string `json:"status"`
}

// healthy reports that the process is running.
func healthy(w http.ResponseWriter, _ *http.Request) error {
	return web.WriteJSON(w, http.StatusOK, health{"ok"})
}

// readyIf reports whether the store responds.
func readyIf(ready func(context.Context) error) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := ready(r.Context()); err != nil {
			return err
		}
		return web.WriteJSON(w, http.StatusOK, health{"ready"})
	}
}
