package store

// archiveFormat is the version of the form of an archive. Formats 1, of the
// first release, 2, and 3, whose licenses have no Text, are read as well.
const archiveFormat = 4

// An archiveLine is one line of an archive. One field is set.
type archiveLine struct {
	Archive    *archiveHead `json:"archive,omitempty"` // the first line
	License    *License     `json:"license,omitempty"`
	Activation *Activation  `json:"activation,omitempty"`
	Event      *Event       `json:"event,omitempty"`
	Entry      *Entry       `json:"entry,omitempty"`
	End        *archiveEnd  `json:"end,omitempty"` // the last line

	dropped bool // of an earlier format, and not needed any more
}

type archiveHead struct {
	Format int `json:"format"`
}

type archiveEnd struct {
	Records int `json:"records"`
}
