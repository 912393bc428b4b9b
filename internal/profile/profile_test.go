package profile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func names(es []Event) []string {
	out := make([]string, len(es))
	for i := range es {
		out[i] = es[i].Name
	}
	return out
}

func mark(name string, start, stop int64) {
	Record(Event{Kind: KindWork, Name: name, Start: start, Stop: stop})
}

// idle fails a test that leaves something open.
func idle(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if Enabled() {
			t.Error("a take is still open")
		}
		for i, l := range lanes {
			if l.running != 0 {
				t.Errorf("lane %d is in use", i)
			}
		}
	})
}

func TestTakeOrder(t *testing.T) {
	idle(t)
	mark("before", 0, 0)
	got, err := Take(t.Context(), func(context.Context) error {
		if !Enabled() {
			t.Error("not enabled in a take")
		}
		mark("late", 9, 10)
		mark("short", 5, 6)
		mark("first of two", 5, 8)
		mark("second of two", 5, 8)
		mark("instant", 5, 5)
		mark("backwards", 5, 2) // as long as an instant
		mark("early", 1, 2)
		return nil
	})
	want := []string{"early", "first of two", "second of two", "short", "instant", "backwards", "late"}
	if diff := cmp.Diff(want, names(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if Enabled() {
		t.Error("enabled after the take")
	}
}

func TestManyEvents(t *testing.T) {
	idle(t)
	const n = 200_000
	got, err := Take(t.Context(), func(context.Context) error {
		for i := range int64(n) {
			mark("e", n-i, n-i)
		}
		return nil
	})
	if err != nil || len(got) != n {
		t.Fatal(len(got), err)
	}
	for i := range got {
		if got[i].Start != int64(i+1) {
			t.Fatalf("event %d starts at %d", i, got[i].Start)
		}
	}
}

func TestTakesNestAndOverlap(t *testing.T) {
	idle(t)
	outer, err := Take(t.Context(), func(ctx context.Context) error {
		mark("a", 1, 1)
		inner, err := Take(ctx, func(context.Context) error { mark("b", 2, 2); return nil })
		if diff := cmp.Diff([]string{"b"}, names(inner)); diff != "" {
			t.Errorf("inner (-want +got):\n%s", diff)
		}
		mark("c", 3, 3)
		return err
	})
	if diff := cmp.Diff([]string{"a", "b", "c"}, names(outer)); diff != "" || err != nil {
		t.Errorf("outer: %v (-want +got):\n%s", err, diff)
	}

	// Two goroutines: the second take opens in the first and closes after it.
	opened, firstClosed := make(chan bool), make(chan bool)
	var second []Event
	done := make(chan error)
	first, err := Take(t.Context(), func(ctx context.Context) error {
		mark("only first", 1, 1)
		go func() {
			var err error
			second, err = Take(ctx, func(context.Context) error {
				mark("both", 2, 2)
				close(opened)
				<-firstClosed
				mark("only second", 3, 3)
				return nil
			})
			done <- err
		}()
		<-opened
		return nil
	})
	close(firstClosed)
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"only first", "both"}, {"both", "only second"}}, [][]string{names(first), names(second)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTakeFails(t *testing.T) {
	idle(t)
	boom := errors.New("boom")
	if es, err := Take(t.Context(), func(context.Context) error { mark("x", 1, 1); return boom }); es != nil || err != boom {
		t.Errorf("%v, %v, want the failure alone", es, err)
	}
	func() {
		defer func() {
			if r := recover(); r != boom {
				t.Errorf("recovered %v", r)
			}
		}()
		_, _ = Take(t.Context(), func(context.Context) error { panic(boom) })
	}()
	done := make(chan bool)
	go func() {
		defer close(done)
		_, _ = Take(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
	}()
	<-done
}

func TestSpans(t *testing.T) {
	idle(t)
	lane := func(es []Event, name string) string {
		i := slices.IndexFunc(es, func(e Event) bool { return e.Name == name })
		if i < 0 {
			return "none"
		}
		return es[i].Lane
	}
	span := func(ctx context.Context, name string, f func(context.Context)) {
		if err := Span(ctx, name, func(ctx context.Context) error { f(ctx); return nil }); err != nil {
			t.Error(err)
		}
	}
	nothing := func(context.Context) {}
	es, err := Take(t.Context(), func(ctx context.Context) error {
		span(ctx, "a", func(ctx context.Context) {
			span(ctx, "a1", nothing)
			span(ctx, "a2", func(ctx context.Context) { span(ctx, "a21", nothing) })
			span(context.Background(), "other", func(other context.Context) { span(other, "other1", nothing) })
			// Two at once under one context: only one can stand on its lane.
			span(ctx, "a3", func(context.Context) { span(ctx, "beside a3", nothing) })
		})
		span(ctx, "b", nothing)
		func() {
			defer func() { _ = recover() }()
			_ = Span(ctx, "panics", func(context.Context) error { panic(1) })
		}()
		boom := errors.New("boom")
		if err := Span(ctx, "fails", func(context.Context) error { return boom }); err != boom {
			t.Errorf("a span returned %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a": "domain 0", "a1": "domain 0", "a2": "domain 0", "a21": "domain 0", "a3": "domain 0", "other": "domain 1", "other1": "domain 1",
		"beside a3": "domain 1", "b": "domain 0", "panics": "domain 0", "fails": "domain 0",
	} {
		if got := lane(es, name); got != want {
			t.Errorf("span %s is on %q, want %q", name, got, want)
		}
	}
	checkNesting(t, es)
}

// A span of another goroutine that outlives the one whose context it has stands on a lane of its own then, with what runs under it.
func TestSpanOutlivesParent(t *testing.T) {
	idle(t)
	var wg sync.WaitGroup
	begun, ended, over := make(chan bool), make(chan bool), make(chan bool)
	nothing := func(context.Context) error { return nil }
	es, err := Take(t.Context(), func(ctx context.Context) error {
		_ = Span(ctx, "root", func(ctx context.Context) error {
			_ = Span(ctx, "parent", func(ctx context.Context) error {
				wg.Go(func() {
					_ = Span(ctx, "child", func(ctx context.Context) error {
						_ = Span(ctx, "before", nothing)
						_ = Span(ctx, "below", func(context.Context) error {
							close(begun)
							<-ended
							return nil
						})
						_ = Span(ctx, "after", nothing)
						<-over
						return nil
					})
				})
				<-begun
				return nil
			})
			close(ended)
			_ = Span(ctx, "next", nothing)
			return nil
		})
		_ = Span(ctx, "beside", nothing)
		close(over)
		wg.Wait()
		return Span(ctx, "last", nothing)
	})
	if err != nil {
		t.Fatal(err)
	}
	checkNesting(t, es)
	want := map[string]string{
		"root": "domain 0", "parent": "domain 0", "before": "domain 0", "next": "domain 0", "beside": "domain 0", "last": "domain 0",
		"child": "domain 1", "below": "domain 1", "after": "domain 1",
	}
	got := map[string]string{}
	for _, e := range es {
		got[e.Name] = e.Lane
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSpanMembership: a span is in the takes that were open at its start.
func TestSpanMembership(t *testing.T) {
	idle(t)
	var inner []Event
	outer, err := Take(t.Context(), func(ctx context.Context) error {
		return Span(ctx, "around", func(ctx context.Context) error {
			var err error
			inner, err = Take(ctx, func(ctx context.Context) error {
				return Span(ctx, "inside", func(context.Context) error { return nil })
			})
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"around", "inside"}, {"inside"}}, [][]string{names(outer), names(inner)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A span that outlives its take is in none.
	inSpan, end := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	es, err := Take(t.Context(), func(context.Context) error {
		wg.Go(func() {
			_ = Span(context.Background(), "long", func(context.Context) error { close(inSpan); <-end; return nil })
		})
		<-inSpan
		return nil
	})
	close(end)
	wg.Wait()
	if len(es) != 0 || err != nil {
		t.Errorf("%v, %v", es, err)
	}
}

func checkNesting(t *testing.T, es []Event) {
	t.Helper()
	stacks := map[string][]int64{}
	for _, e := range es {
		if e.Kind != KindSpan {
			continue
		}
		s := stacks[e.Lane]
		for len(s) > 0 && s[len(s)-1] <= e.Start {
			s = s[:len(s)-1]
		}
		if len(s) > 0 && s[len(s)-1] < e.Stop {
			t.Errorf("span %s [%d, %d] on %s reaches out of one that ends at %d", e.Name, e.Start, e.Stop, e.Lane, s[len(s)-1])
		}
		stacks[e.Lane] = append(s, e.Stop)
	}
}

func TestSpansOfManyGoroutines(t *testing.T) {
	idle(t)
	var free sync.WaitGroup // goroutines that may outlive the span that they began under
	var grow func(ctx context.Context, r *rand.Rand, depth int)
	grow = func(ctx context.Context, r *rand.Rand, depth int) {
		for range r.IntN(4) {
			_ = Span(ctx, "s", func(ctx context.Context) error {
				if depth == 3 {
					return nil
				}
				if r.IntN(3) > 0 {
					grow(ctx, r, depth+1)
					return nil
				}
				next := rand.New(rand.NewPCG(2, r.Uint64())) // that goroutine's own
				free.Go(func() { grow(ctx, next, depth+1) })
				if r.IntN(2) == 0 {
					runtime.Gosched()
				}
				return nil
			})
		}
	}
	es, err := Take(t.Context(), func(ctx context.Context) error {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				for range 20 {
					grow(ctx, r, 0)
				}
			})
		}
		wg.Wait()
		free.Wait()
		return nil
	})
	if err != nil || len(es) == 0 {
		t.Fatal(len(es), err)
	}
	checkNesting(t, es)
}

// work is a submission of a fake device.
type work struct {
	name  string
	ended chan struct{}
	begun chan struct{} // closed when somebody reads it
	once  sync.Once
	err   error
}

func submit(d *Device, name string) *work {
	w := &work{name: name, ended: make(chan struct{}), begun: make(chan struct{})}
	d.Submitted(func(ctx context.Context) ([]Event, error) {
		w.once.Do(func() { close(w.begun) })
		select {
		case <-w.ended:
			return []Event{{Kind: KindWork, Name: w.name}}, w.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}, func() bool {
		select {
		case <-w.ended:
			return true
		default:
			return false
		}
	})
	return w
}

func (w *work) end() { close(w.ended) }

func TestTakeWaits(t *testing.T) {
	idle(t)
	d := NewDevice("gpu")
	before := submit(d, "before any take")
	before.end()
	var w [2]*work
	es, err := Take(t.Context(), func(context.Context) error {
		w[0], w[1] = submit(d, "one"), submit(d, "two")
		time.AfterFunc(5*time.Millisecond, w[1].end)
		time.AfterFunc(10*time.Millisecond, w[0].end)
		return nil
	})
	if diff := cmp.Diff([]string{"one", "two"}, names(es)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if len(d.pending) != 0 {
		t.Errorf("%d submissions left", len(d.pending))
	}
}

// TestWorkOfBothTakes: work that was submitted in two takes is read once and given to both.
func TestWorkOfBothTakes(t *testing.T) {
	idle(t)
	d := NewDevice("gpu")
	var inner []Event
	outer, err := Take(t.Context(), func(ctx context.Context) error {
		submit(d, "outer's").end()
		var err error
		inner, err = Take(ctx, func(context.Context) error { submit(d, "of both").end(); return nil })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"of both", "outer's"}, {"of both"}}, [][]string{names(outer), names(inner)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTakeContext(t *testing.T) {
	idle(t)
	d := NewDevice("gpu")
	ctx, cancel := context.WithCancel(t.Context())
	outer, err := Take(t.Context(), func(context.Context) error {
		var w *work
		_, err := Take(ctx, func(context.Context) error {
			w = submit(d, "slow")
			time.AfterFunc(5*time.Millisecond, cancel)
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled take: %v", err)
		}
		w.end()
		return nil
	})
	if diff := cmp.Diff([]string{"slow"}, names(outer)); diff != "" || err != nil {
		t.Errorf("the other take: %v (-want +got):\n%s", err, diff)
	}
}

func wantLost(t *testing.T, es []Event, err, cause error) {
	t.Helper()
	lost, ok := errors.AsType[*Lost](err)
	if !ok || lost.Device != "gpu" || !errors.Is(err, cause) || es != nil {
		t.Errorf("%v, %v, want gpu lost by %v", es, err, cause)
	}
}

func TestDeviceLost(t *testing.T) {
	idle(t)
	hung := errors.New("hung")
	d, other := NewDevice("gpu"), NewDevice("other")
	// Another goroutine's work, in flight and lost while f runs.
	es, err := Take(t.Context(), func(context.Context) error {
		done := make(chan bool)
		go func() { submit(d, "w"); close(done) }()
		<-done
		d.Lose(hung)
		return nil
	})
	wantLost(t, es, err, hung)
	// Lost while the take waits; a take with nothing on that device goes on.
	d = NewDevice("gpu")
	okCh := make(chan []Event)
	go func() {
		es, _ := Take(t.Context(), func(context.Context) error { submit(other, "fine").end(); return nil })
		okCh <- es
	}()
	if got := names(<-okCh); !slices.Equal(got, []string{"fine"}) {
		t.Errorf("the other device's take has %v", got)
	}
	es, err = Take(t.Context(), func(context.Context) error {
		w := submit(d, "w")
		go func() { <-w.begun; d.Lose(hung) }()
		return nil
	})
	wantLost(t, es, err, hung)
	// A reading that fails is as good as lost.
	d = NewDevice("gpu")
	es, err = Take(t.Context(), func(context.Context) error {
		w := submit(d, "w")
		w.err = hung
		w.end()
		return nil
	})
	wantLost(t, es, err, hung)
	// f's own failure comes first.
	if _, err := Take(t.Context(), func(context.Context) error { submit(d, "w"); d.Lose(hung); return context.Canceled }); err != context.Canceled {
		t.Errorf("%v, want f's failure", err)
	}
}

func TestDeviceClosed(t *testing.T) {
	idle(t)
	// Closed by f: nothing of what is done is lost.
	d := NewDevice("gpu")
	es, err := Take(t.Context(), func(ctx context.Context) error {
		submit(d, "one").end()
		submit(d, "two").end()
		d.Close(ctx)
		submit(d, "after") // registers nothing
		return nil
	})
	if diff := cmp.Diff([]string{"one", "two"}, names(es)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// Work that is not done is lost.
	d = NewDevice("gpu")
	es, err = Take(t.Context(), func(ctx context.Context) error {
		submit(d, "one").end()
		submit(d, "never")
		d.Close(ctx)
		return nil
	})
	wantLost(t, es, err, ErrClosed)
}

// TestDeviceClosedWhileRead: an event that another take had begun to read stays that take's, which gets the Lost.
func TestDeviceClosedWhileRead(t *testing.T) {
	idle(t)
	d := NewDevice("gpu")
	readerOpen, submitted, closed := make(chan bool), make(chan bool), make(chan error)
	var closer []Event
	go func() {
		var err error
		<-readerOpen
		closer, err = Take(t.Context(), func(ctx context.Context) error {
			w := submit(d, "w")
			submit(d, "done").end()
			close(submitted)
			<-w.begun // the reader waits for it
			d.Close(ctx)
			return nil
		})
		closed <- err
	}()
	es, err := Take(t.Context(), func(context.Context) error {
		close(readerOpen)
		<-submitted
		return nil
	})
	wantLost(t, es, err, ErrClosed)
	if err := <-closed; err != nil {
		t.Errorf("the closing take: %v", err)
	}
	if diff := cmp.Diff([]string{"done"}, names(closer)); diff != "" {
		t.Errorf("the closing take (-want +got):\n%s", diff)
	}
}

// TestRandom runs takes, devices and closes at random and checks that nothing hangs and that each take either has all of
// its own work or is told of the loss.
func TestRandom(t *testing.T) {
	idle(t)
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(g)))
			for i := range 60 {
				d := NewDevice("gpu")
				mine := map[string]bool{}
				es, err := Take(context.Background(), func(ctx context.Context) error {
					for j := range r.IntN(5) {
						name := fmt.Sprintf("%d.%d.%d", g, i, j)
						mine[name] = true
						w := submit(d, name)
						if r.IntN(2) == 0 {
							w.end()
						} else {
							time.AfterFunc(time.Duration(r.IntN(300))*time.Microsecond, w.end)
						}
						if r.IntN(8) == 0 {
							go d.Lose(errors.New("lost"))
						}
					}
					if r.IntN(4) == 0 {
						d.Close(ctx)
					}
					return nil
				})
				if err != nil {
					if _, ok := errors.AsType[*Lost](err); !ok {
						t.Errorf("%v", err)
					}
					continue
				}
				for _, e := range es {
					delete(mine, e.Name)
				}
				// Another take that ends first may have been reading when d closed; then the event is that take's.
				if len(mine) > 0 && d.gone == nil {
					t.Errorf("take %d.%d lacks %v", g, i, mine)
				}
			}
		})
	}
	wg.Wait()
}

func TestNow(t *testing.T) {
	a := Now()
	time.Sleep(time.Millisecond)
	if b := Now(); b-a < int64(time.Millisecond) {
		t.Errorf("%d ns pass in a millisecond", b-a)
	}
}

func TestNoTakeAllocatesNothing(t *testing.T) {
	e := Event{Kind: KindWork, Device: "gpu", Lane: "COMPUTE:0", Name: "k"}
	ctx := context.Background()
	n := 0
	d := NewDevice("gpu")
	read, done := func(context.Context) ([]Event, error) { return nil, nil }, func() bool { return true }
	for name, f := range map[string]func(){
		"Record":    func() { Record(e) },
		"Span":      func() { _ = Span(ctx, "s", func(context.Context) error { n++; return nil }) },
		"Submitted": func() { d.Submitted(read, done) },
		"Enabled":   func() { _ = Enabled() },
	} {
		if got := testing.AllocsPerRun(100, f); got != 0 {
			t.Errorf("%s: %v allocations with no take open", name, got)
		}
	}
}

// Units that were not measured are left out of a sum, and it never wraps.
func TestSum(t *testing.T) {
	for _, c := range []struct {
		values []Value
		want   Value
	}{
		{[]Value{{N: 1}, {N: 2}}, Value{N: 3}},
		{[]Value{{NA: "a"}, {N: 2}, {NA: "b"}}, Value{N: 2}},
		{[]Value{{N: 7, AtLeast: true}, {N: 2}}, Value{N: 9, AtLeast: true}},
		{[]Value{{N: math.MaxUint64}, {N: 2}, {N: 5}}, Value{N: math.MaxUint64, AtLeast: true}},
		{[]Value{{N: math.MaxUint64}, {}}, Value{N: math.MaxUint64}},
		{[]Value{{NA: "a"}, {NA: "b"}}, Value{NA: "a"}},
		{nil, Value{NA: "it has no unit"}},
	} {
		if got := (&Counter{Values: c.values}).Sum(); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.values, got, c.want)
		}
	}
}
