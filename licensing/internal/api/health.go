package api

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
)

type health struct {
	Status string `json:"status"`
}

// health says that the process is alive, and asks nothing else.
func (a api) health(w http.ResponseWriter, r *http.Request) error {
	return web.WriteJSON(w, http.StatusOK, health{"ok"})
}

// ready says that the store answers.
func (a api) ready(w http.ResponseWriter, r *http.Request) error {
	if err := a.Ready(r.Context()); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, health{"ready"})
}
