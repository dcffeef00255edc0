package store

// archiveFormat is the format that Export writes, and the only one that Import
// reads.
const archiveFormat = 1

// An archiveLine is one line of an archive. One field is set.
type archiveLine struct {
	Archive    *archiveHead `json:"archive,omitempty"` // the first line
	License    *License     `json:"license,omitempty"`
	Activation *Activation  `json:"activation,omitempty"`
	Event      *Event       `json:"event,omitempty"`
	Entry      *Entry       `json:"entry,omitempty"`
	End        *archiveEnd  `json:"end,omitempty"` // the last line
}

type archiveHead struct {
	Format int `json:"format"`
}

type archiveEnd struct {
	Records int `json:"records"`
}
