package perfctr

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/rigprof/rigprof/internal/gpu"
)

type metricRow struct {
	targets                       uint32
	name, expression, description string
}

// Metric is a figure computed from counters.
type Metric struct {
	Name, Expression, Description string
}

func targetBit(target string) uint32 {
	for i := range counterTables {
		if counterTables[i].target == target {
			return 1 << i
		}
	}
	return 0
}

// Metrics lists the metrics of a GPU whose counters it can count, by name.
func Metrics(g *gpu.GPU) []Metric {
	var out []Metric
	bit := targetBit(g.Target)
	for i := range metricRows {
		if m := &metricRows[i]; m.targets&bit != 0 {
			if _, err := Needs(g, m.name); err == nil {
				out = append(out, Metric{m.name, m.expression, m.description})
			}
		}
	}
	return out
}

func metricOf(target, name string) *metricRow {
	bit := targetBit(target)
	for i := range metricRows {
		if m := &metricRows[i]; m.name == name && m.targets&bit != 0 {
			return m
		}
	}
	return nil
}

// property is what an expression calls a fact of the GPU, in the words of the kernel driver's topology.
func property(g *gpu.GPU, name string) (float64, bool) {
	cusOfUnit, lanes := 1, 64
	if g.Family != gpu.GFX9 {
		cusOfUnit, lanes = 2, 32
	}
	switch name {
	case "simd_count":
		n := 0
		for _, arrays := range g.LiveUnits() {
			for _, units := range arrays {
				for ; units != 0; units &= units - 1 {
					n += g.SIMDs
				}
			}
		}
		return float64(n), true
	case "simd_per_cu":
		return float64(g.SIMDs / cusOfUnit), true
	case "array_count":
		return float64(g.Engines() * g.SAs), true
	case "simd_arrays_per_engine":
		return float64(g.SAs), true
	case "wave_front_size":
		return float64(lanes), true
	}
	return 0, false
}

// Need is a counter that an expression takes. Level: the next register sums it over time, and that sum is what is taken.
type Need struct {
	Name  string
	Level bool
}

// accumulatorOf is the counter that sums the level counter in the register before its own.
func accumulatorOf(g *gpu.GPU) string {
	if g.Family == gpu.GFX9 {
		return "SQ_ACCUM_PREV_HIRES"
	}
	return "SQ_ACCUM_PREV"
}

// Needs lists what a counter, a metric or an expression over both takes, each once, in order of use.
func Needs(g *gpu.GPU, expression string) ([]Need, error) {
	e := &evaluator{g: g, collect: true}
	if _, err := e.run(expression); err != nil {
		return nil, err
	}
	return e.needs, nil
}

// Number is a metric's value.
type Number struct {
	F       float64
	AtLeast bool   // a counter in it was full, so it is off by an unknown amount
	NA      string // why there is none
}

// Measured is the readings of one or more runs, by what they measured.
type Measured map[Need]*Reading

// Add takes a run's readings. An accumulator is also the sum over time of the counter of its block that stands before it.
func (m Measured) Add(g *gpu.GPU, readings []Reading) {
	for i := range readings {
		r := &readings[i]
		m[Need{Name: r.Counter.Name}] = r
		if i > 0 && r.Counter.Name == accumulatorOf(g) && readings[i-1].Counter.Block == r.Counter.Block {
			m[Need{Name: readings[i-1].Counter.Name, Level: true}] = r
		}
	}
}

// Evaluate computes a counter's total, a metric or an expression over both. The error says what is wrong with the expression; what could not be
// measured makes the number n/a instead.
func Evaluate(g *gpu.GPU, expression string, m Measured) (Number, error) {
	e := &evaluator{g: g, measured: m}
	v, err := e.run(expression)
	if err != nil {
		return Number{}, err
	}
	return e.fold(v, "sum"), nil
}

// maxDepth bounds both parentheses and metrics of metrics.
const maxDepth = 64

// evaluator parses and computes in one go: expressions are short and run once per dispatch.
type evaluator struct {
	g        *gpu.GPU
	measured Measured
	collect  bool // gather needs instead of computing
	needs    []Need
	depth    int
	text     string
	pos      int
	whole    string // for messages
}

// operand is a number, or a counter's values that are not folded yet.
type operand struct {
	n      Number
	values []Value
	vector bool
}

func (e *evaluator) run(expression string) (operand, error) {
	if e.depth++; e.depth > maxDepth {
		return operand{}, fmt.Errorf("%s: metrics that need each other", expression)
	}
	text, pos, whole := e.text, e.pos, e.whole
	e.text, e.pos, e.whole = expression, 0, expression
	v, err := e.sum()
	if err == nil {
		if e.space(); e.pos < len(e.text) {
			err = e.errorf("%q is left over", e.text[e.pos:])
		}
	}
	e.text, e.pos, e.whole = text, pos, whole
	e.depth--
	return v, err
}

func (e *evaluator) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: column %d: %s", e.whole, e.pos+1, fmt.Sprintf(format, args...))
}

func (e *evaluator) space() {
	for e.pos < len(e.text) && (e.text[e.pos] == ' ' || e.text[e.pos] == '\t') {
		e.pos++
	}
}

// next takes the byte if it is the next one that is no space.
func (e *evaluator) next(b byte) bool {
	if e.space(); e.pos < len(e.text) && e.text[e.pos] == b {
		e.pos++
		return true
	}
	return false
}

func (e *evaluator) sum() (operand, error) {
	a, err := e.product()
	for err == nil {
		var op byte
		switch {
		case e.next('+'):
			op = '+'
		case e.next('-'):
			op = '-'
		default:
			return a, nil
		}
		var b operand
		if b, err = e.product(); err == nil {
			a = e.apply(op, a, b)
		}
	}
	return a, err
}

func (e *evaluator) product() (operand, error) {
	a, err := e.factor()
	for err == nil {
		var op byte
		switch {
		case e.next('*'):
			op = '*'
		case e.next('/'):
			op = '/'
		default:
			return a, nil
		}
		var b operand
		if b, err = e.factor(); err == nil {
			a = e.apply(op, a, b)
		}
	}
	return a, err
}

// apply computes a op b; counters that no reduce folded are summed first.
func (e *evaluator) apply(op byte, a, b operand) operand {
	x, y := e.fold(a, "sum"), e.fold(b, "sum")
	out := Number{AtLeast: x.AtLeast || y.AtLeast, NA: x.NA}
	if out.NA == "" {
		out.NA = y.NA
	}
	if out.NA != "" {
		return operand{n: Number{NA: out.NA}}
	}
	switch op {
	case '+':
		out.F = x.F + y.F
	case '-':
		out.F = x.F - y.F
	case '*':
		out.F = x.F * y.F
	case '/':
		if y.F == 0 {
			return operand{n: Number{NA: "it divides by 0"}}
		}
		out.F = x.F / y.F
	}
	return operand{n: out}
}

func (e *evaluator) factor() (operand, error) {
	if e.depth++; e.depth > maxDepth {
		return operand{}, e.errorf("nested too deeply")
	}
	defer func() { e.depth-- }()
	if e.next('-') {
		v, err := e.factor()
		return e.apply('-', operand{}, v), err
	}
	if e.next('(') {
		v, err := e.sum()
		if err == nil && !e.next(')') {
			err = e.errorf("want )")
		}
		return v, err
	}
	word := e.word()
	switch {
	case word == "":
		return operand{}, e.errorf("want a name, a number or (")
	case word[0] >= '0' && word[0] <= '9' || word[0] == '.':
		f, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return operand{}, e.errorf("%q is no number", word)
		}
		return operand{n: Number{F: f}}, nil
	case word == "reduce" || word == "accumulate":
		return e.call(word)
	}
	return e.name(word)
}

func (e *evaluator) word() string {
	e.space()
	from := e.pos
	for e.pos < len(e.text) {
		c := e.text[e.pos]
		if c != '_' && c != '.' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		e.pos++
	}
	return e.text[from:e.pos]
}

// call is reduce(expression,op) or accumulate(counter,resolution).
func (e *evaluator) call(f string) (operand, error) {
	if !e.next('(') {
		return operand{}, e.errorf("want ( after %s", f)
	}
	var v operand
	var err error
	if f == "reduce" {
		v, err = e.sum()
	} else {
		v, err = e.counter(e.word(), true)
	}
	if err != nil {
		return operand{}, err
	}
	if !e.next(',') {
		return operand{}, e.errorf("want , in %s", f)
	}
	op := e.word()
	if !e.next(')') {
		return operand{}, e.errorf("want ) after %s", f)
	}
	if f == "accumulate" {
		if op != "HIGH_RES" && op != "LOW_RES" {
			return operand{}, e.errorf("accumulate by %q, not HIGH_RES or LOW_RES", op)
		}
		return v, nil
	}
	if !slices.Contains([]string{"sum", "max", "min", "avr"}, op) {
		return operand{}, e.errorf("reduce by %q, not sum, max, min or avr", op)
	}
	return operand{n: e.fold(v, op)}, nil
}

// name is a counter, a metric or a property of the GPU.
func (e *evaluator) name(name string) (operand, error) {
	if tableOf(e.g.Target).find(name) != nil {
		return e.counter(name, false)
	}
	if f, ok := property(e.g, name); ok {
		return operand{n: Number{F: f}}, nil
	}
	if m := metricOf(e.g.Target, name); m != nil && m.expression != name {
		v, err := e.run(m.expression)
		if err != nil {
			return operand{}, fmt.Errorf("%s = %w", name, err)
		}
		return v, nil
	}
	return operand{}, &UnknownError{e.g.Target, name}
}

func (e *evaluator) counter(name string, level bool) (operand, error) {
	t := tableOf(e.g.Target)
	if t.find(name) == nil || level && t.find(accumulatorOf(e.g)) == nil {
		return operand{}, &UnknownError{e.g.Target, name}
	}
	n := Need{name, level}
	if e.collect {
		if !slices.Contains(e.needs, n) {
			e.needs = append(e.needs, n)
		}
		return operand{n: Number{F: 1}}, nil
	}
	r := e.measured[n]
	if r == nil {
		return operand{n: Number{NA: name + " was not measured"}}, nil
	}
	return operand{values: r.Values, vector: true}, nil
}

// fold reduces a counter's measured units to one number.
func (e *evaluator) fold(v operand, op string) Number {
	if !v.vector {
		return v.n
	}
	out, count, why := Number{}, 0, ""
	for _, x := range v.values {
		if x.NA != "" {
			if why == "" { // the first: later units may be ones that the board lacks
				why = x.NA
			}
			continue
		}
		f := float64(x.N)
		switch {
		case count == 0:
			out.F = f
		case op == "max":
			out.F = max(out.F, f)
		case op == "min":
			out.F = min(out.F, f)
		default:
			out.F += f
		}
		out.AtLeast = out.AtLeast || x.AtLeast
		count++
	}
	if count == 0 {
		return Number{NA: cmp.Or(why, "the counter has no unit")}
	}
	if op == "avr" {
		out.F /= float64(count)
	}
	return out
}
