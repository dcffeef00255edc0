// The functions that main.go exports. licensekit.c calls them, unless the process was forked.
#include "licensekit.h"

typedef const char *lk_in; // cgo has no const
