package shader

import (
	"context"
	"io"
	"runtime"
	"sync"
)

// Machine runs kernels from one address space and keeps their decoded programs.
type Machine struct {
	mem     Memory
	workers int

	mu    sync.Mutex
	progs map[progKey]*Program
	stale bool
	pool  sync.Pool // *group

	windows sync.Pool // *window
	gds     gds
}

type progKey struct {
	entry  uint64
	arch   uint8
	wave32 bool
	dx     uint32
}

// NewMachine returns a machine on mem.
func NewMachine(mem Memory) *Machine {
	return &Machine{mem: mem, workers: runtime.GOMAXPROCS(0), progs: map[progKey]*Program{}}
}

// SetWorkers limits the goroutines that run workgroups. Results do not depend on it.
func (m *Machine) SetWorkers(n int) { m.workers = max(n, 1) }

// Invalidate says that code may have changed. Programs are compared with memory before they run again.
func (m *Machine) Invalidate() {
	m.mu.Lock()
	m.stale = true
	m.mu.Unlock()
}

func (m *Machine) program(k *Kernel) *Program {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stale {
		for key, p := range m.progs {
			if !p.unchanged() {
				delete(m.progs, key)
			}
		}
		m.stale = false
	}
	key := progKey{k.Entry, uint8(k.Arch), k.Wave32, k.RSRC3 & 63}
	if p, ok := m.progs[key]; ok {
		return p
	}
	p := &Program{arch: k.Arch, wave: 64, mem: m.mem}
	if k.Wave32 {
		p.wave = 32
	}
	p.state.Store(&programState{byPC: map[uint64]int{}})
	p.target(k.Entry)
	m.progs[key] = p
	return p
}

// Run is one dispatch in progress. Its logs come in dispatch order whatever order the workgroups ran in.
type Run struct {
	m    *Machine
	k    *Kernel
	prog *Program

	ctx    context.Context
	cancel context.CancelFunc
	total  uint64

	mu      sync.Mutex
	cond    *sync.Cond
	next    uint64               // next workgroup to hand out
	taken   uint64               // next workgroup to start
	done    map[uint64]*GroupLog // finished, not yet handed out
	failed  error
	failAt  uint64
	running sync.WaitGroup

	queues [gwsResources][]*wave // waves at semaphores, first come first
	order  waveOrder
}

// ahead is how many workgroups may have been run or begun beyond the one that Next waits for.
const ahead = 64

// Run starts the kernel's workgroups. The caller reads Next until it returns an error, io.EOF at the end, or
// calls Close.
func (m *Machine) Run(ctx context.Context, k *Kernel) *Run {
	kc := *k
	r := &Run{m: m, k: &kc, prog: m.program(&kc), done: map[uint64]*GroupLog{}}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.cond = sync.NewCond(&r.mu)
	r.total = uint64(k.Groups[0]) * uint64(k.Groups[1]) * uint64(k.Groups[2])
	r.failAt = r.total
	workers := m.workers
	if r.prog.ordered || k.Serial {
		workers = 1
	}
	if uint64(workers) > r.total {
		workers = int(r.total)
	}
	context.AfterFunc(r.ctx, func() {
		r.mu.Lock()
		r.cond.Broadcast()
		r.mu.Unlock()
	})
	for range workers {
		r.running.Add(1)
		go r.work()
	}
	return r
}

// Close stops the run and waits for its goroutines. It may be called twice.
func (r *Run) Close() {
	r.cancel()
	r.running.Wait()
}

// Program is the kernel's code.
func (r *Run) Program() *Program { return r.prog }

// Next returns the log of the next workgroup, x fastest. It ends with io.EOF, a *Fault of the first workgroup
// that could not go on, or the context's error.
func (r *Run) Next() (*GroupLog, error) {
	r.mu.Lock()
	for {
		if g, ok := r.done[r.next]; ok {
			delete(r.done, r.next)
			r.next++
			r.cond.Broadcast()
			r.mu.Unlock()
			return g, nil
		}
		if r.next >= r.total || r.failed != nil && r.next >= r.failAt || r.ctx.Err() != nil {
			break
		}
		r.cond.Wait()
	}
	err := r.failed
	if err == nil {
		err = r.ctx.Err()
	}
	if err == nil {
		err = io.EOF
	}
	r.mu.Unlock()
	r.Close()
	return nil, err
}

// All runs to the end and throws the logs away.
func (r *Run) All() error {
	for {
		g, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		g.Release()
	}
}

// take returns the number of a workgroup to start, below limit. It waits for the reader of logs where that
// is far behind, unless those that run cannot go on without it; ok is false when there is no workgroup to start.
func (r *Run) take(limit uint64, needed bool) (n uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if r.taken >= r.total || r.taken >= limit || r.failed != nil && r.taken > r.failAt || r.ctx.Err() != nil {
			return 0, false
		}
		if r.taken < r.next+ahead || needed {
			n = r.taken
			r.taken++
			return n, true
		}
		r.cond.Wait()
	}
}

func (r *Run) finish(n uint64, log *GroupLog, err error) {
	r.mu.Lock()
	if err != nil {
		if r.failed == nil || n < r.failAt {
			r.failed, r.failAt = err, n
		}
	} else {
		r.done[n] = log
	}
	r.cond.Broadcast()
	r.mu.Unlock()
}

// resident is how many workgroups a worker keeps going at once when they do not end within their slice.
const resident = 32

// residentWaves is how many waves may be going while all wait for workgroups that have not begun. Large GPUs hold about
// twice as many; each takes some 150 KB here.
const residentWaves = 4096

// work runs workgroups. One that spins, because it waits for another, gives way after its slice: workgroups
// take turns in a fixed order, so a run is the same every time.
func (r *Run) work() {
	defer r.running.Done()
	var live []*group
	win := r.m.window()
	defer r.m.windows.Put(win)
	defer func() {
		for _, g := range live {
			g.free()
		}
	}()
	waves := 0
	stuck := false // all that are live wait for others
	for {
		if len(live) < resident || stuck && waves < residentWaves {
			limit := r.total
			if len(live) > 0 && !stuck { // fixed by what runs, not by how fast the logs are read
				limit = live[0].number + ahead
			}
			if n, ok := r.take(limit, stuck); ok {
				g := newGroup(r, n, win)
				live = append(live, g)
				waves += g.count()
				stuck = false
			} else if len(live) == 0 {
				return
			}
		}
		if r.ctx.Err() != nil {
			return
		}
		if stuck { // and nothing else can begin
			detail := ""
			if waves >= residentWaves {
				detail = "no more workgroups fit beside those that wait"
			}
			live[0].deadlock(detail)
			r.finish(live[0].number, nil, live[0].err())
			return
		}
		// The newest runs first, then every older one gets a slice.
		stuck = true
		for i := len(live) - 1; i >= 0; i-- {
			g := live[i]
			if !g.run(groupSlice) {
				if r.ctx.Err() != nil {
					return
				}
				stuck = stuck && g.stuck
				continue
			}
			stuck = false
			live = append(live[:i], live[i+1:]...)
			waves -= g.count()
			r.finish(g.number, g.takeLog(), g.err())
			g.free()
		}
		stuck = stuck && len(live) > 0
	}
}
