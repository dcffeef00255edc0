package auth

import "github.com/seed-d8a106b4/licensekit/licensing/api"

type Page[T any] = api.Page[T]
