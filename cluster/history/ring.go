package history

// ring is the place of one resolution in every block.
type ring struct {
	stepMs int64
	slots  int64
	offset int64 // of its first slot
}

const (
	fineMs, coarseMs       = 10_000, 300_000
	fineSlots, coarseSlots = 3_600_000 / fineMs, 24 * 3_600_000 / coarseMs
	blockSlots             = fineSlots + coarseSlots
)

var (
	fine   = ring{fineMs, fineSlots, 0}
	coarse = ring{coarseMs, coarseSlots, fineSlots}
)

// slot returns the place of a step, counted since 1970.
func (r *ring) slot(step int64) int64 { return r.offset + step%r.slots }

// block holds the values of some columns, one column after the other.
type block struct {
	columns []column
	values  []value
}

func newBlock(columns []column) block {
	b := block{columns, make([]value, len(columns)*blockSlots)}
	for i := range b.values {
		b.values[i] = missing
	}
	return b
}

func (b *block) at(column int, r *ring, step int64) *value {
	return &b.values[int64(column)*blockSlots+r.slot(step)]
}

// clear forgets the values of a step.
func (b *block) clear(r *ring, step int64) {
	for i := range b.columns {
		*b.at(i, r, step) = missing
	}
}

// put adds a sample to its step in both resolutions. A number below zero is unknown.
func (b *block) put(column int, fineStep, coarseStep, n int64) {
	if n < 0 {
		return
	}
	*b.at(column, &fine, fineStep) = encode(n)
	v := b.at(column, &coarse, coarseStep)
	if *v != missing {
		switch before := v.decode(); b.columns[column].kind {
		case counter:
			n += before
		case lowest:
			n = min(n, before)
		default:
			n = max(n, before)
		}
	}
	*v = encode(n)
}

// series returns the columns for a range of steps by name. Counters are per second.
func (b *block) series(r *ring, from, to int64) Series {
	all := make(Series, len(b.columns))
	for i, c := range b.columns {
		per := 1.0
		if c.kind == counter {
			per = float64(r.stepMs) / 1000
		}
		list := make([]*float64, 0, to-from+1)
		for step := from; step <= to; step++ {
			if v := *b.at(i, r, step); v == missing {
				list = append(list, nil)
			} else {
				n := float64(v.decode()) * c.scale / per
				list = append(list, &n)
			}
		}
		all[c.name] = list
	}
	return all
}
