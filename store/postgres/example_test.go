package postgres_test

import (
	"context"
	"database/sql"
	"log"
	"net/http"
	"os"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
)

// The program imports a driver, such as github.com/jackc/pgx/v5/stdlib.
func ExampleNew() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(20) // what the server can spare for this process
	db.SetMaxIdleConns(20)
	st, err := postgres.New(context.Background(), db, postgres.Options{Schema: "licenses"})
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close() // before the database
	h := licensing.NewHandler(st, licensing.Options{})
	http.Handle("/licensing/", http.StripPrefix("/licensing", h))
}
