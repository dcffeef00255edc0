package kit

// A MatchCount is the number of licenses that match a filter.
type MatchCount struct {
	N    int64
	More bool // there can be more than n
}

// Text returns the number with a unit, such as "1 license" or "10,000+ licenses".
func (m MatchCount) Text(unit string) string {
	if m.N != 1 || m.More {
		unit += "s"
	}
	return m.Number() + " " + unit
}

func (m MatchCount) Number() string {
	if m.More {
		return Thousands(m.N) + "+"
	}
	return Thousands(m.N)
}
