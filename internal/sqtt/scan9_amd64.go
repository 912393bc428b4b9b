//go:build !purego

package sqtt

// quad9 is four scans of a GFX9 window.
type quad9 struct {
	acc   [scanChains]uint64
	n     [scanChains]uint
	limit [scanChains]uint64 // below 1<<16
	ev    [scanChains]*eventList
}

// scan9Run steps all four until one is at its limit, by up to 15 plain MISCs and a token each time.
//
//go:noescape
func scan9Run(kinds *scan9Kinds, win *window, q *quad9)

// scan9Four scans all chains to their limits. Those that are there already go on for nothing meanwhile.
func scan9Four(kinds *scan9Kinds, win *window, ca, cb, cc, cd *chain) {
	const never = 1<<16 - 1
	chains := [scanChains]*chain{ca, cb, cc, cd}
	var q quad9
	for i, c := range chains {
		q.acc[i], q.n[i], q.limit[i], q.ev[i] = c.acc, c.n, c.limit, c.ev
	}
	for left := scanChains; left > 0; {
		scan9Run(kinds, win, &q)
		for i := range chains {
			switch c := chains[i]; {
			case uint64(uint16(q.acc[i])) < q.limit[i]:
			case q.limit[i] == never:
				q.acc[i] = 0
			default:
				c.acc, c.n, q.limit[i] = q.acc[i], q.n[i], never
				left--
			}
		}
	}
}
