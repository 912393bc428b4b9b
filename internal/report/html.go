package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
)

//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// pageData is what page.js reads.
type pageData struct {
	Unit    string         `json:"unit"`
	Cycles  int64          `json:"cycles"`
	Kernels []string       `json:"kernels"`
	Sites   []pageSite     `json:"sites"`
	Code    []pageFunc     `json:"code"`
	Advice  []Advice       `json:"advice"`
	Quality [][]string     `json:"quality"`
	Notes   []capture.Note `json:"notes"`
}

type pageSite struct {
	Object   int    `json:"object"`
	Address  string `json:"address"`
	Text     string `json:"text"`
	Source   string `json:"source"`
	Function string `json:"function"`
	Kernel   string `json:"kernel"`
	Class    string `json:"class"`
	Hits     int64  `json:"hits"`
	Cycles   int64  `json:"cycles"`
	Stall    int64  `json:"stall"`
	Idle     int64  `json:"idle"`
	Issue    int64  `json:"issue"`
	Exposed  int64  `json:"exposed"`
}

type pageFunc struct {
	Name   string      `json:"name"`
	Object int         `json:"object"`
	Cycles int64       `json:"cycles"`
	Lines  [][3]string `json:"lines"` // address, instruction, source
}

// WriteHTML writes one file without outside references: hot spots, code, timeline, advice, quality.
func (h *Hot) WriteHTML(w io.Writer) error {
	d, err := h.pageData()
	if err != nil {
		return err
	}
	// json.Marshal escapes <, > and &, so no text can end the script element.
	doc, err := json.Marshal(d)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	b64 := base64.NewEncoder(base64.StdEncoding, &packed)
	gz := gzip.NewWriter(b64)
	if err := h.packWaves(gz); err != nil {
		return err
	}
	if err := gz.Close(); err != nil {
		return err
	}
	if err := b64.Close(); err != nil {
		return err
	}
	simulated := ""
	if h.Device.Simulated {
		simulated = `<span class="simulated">simulated: times are modelled</span>`
	}
	title := html.EscapeString(fmt.Sprintf("rigprof: %s (%s)", h.Device.Name, h.Device.Target))
	note := html.EscapeString(fmt.Sprintf("%s with %d instructions, %d wave cycles", Plural(int64(len(h.Waves)), "wave"), h.Profile.Total.Hits, d.Cycles))
	_, err = strings.NewReplacer("{{.Title}}", title, "{{.Note}}", note, "{{.Style}}", pageCSS, "{{.Script}}", pageJS,
		"{{.Data}}", string(doc), "{{.Records}}", packed.String(), "{{.Simulated}}", simulated).WriteString(w, pageHTML)
	return err
}

func (h *Hot) pageData() (*pageData, error) {
	d := &pageData{
		Unit: unitName(h.family), Cycles: h.Profile.Total.Cycles(), Kernels: h.Kernels, Sites: make([]pageSite, len(h.Profile.Insts)), Code: []pageFunc{},
		Advice: h.Advise(), Notes: []capture.Note{},
	}
	for i := range h.Profile.Insts {
		c := &h.Profile.Insts[i]
		p := h.Place(c.Where)
		d.Sites[i] = pageSite{
			c.Object, addressOf(c.Where), p.Text, p.Line(), p.Func(), p.Kernel, className(c.Class), c.Hits, c.Cycles(), c.Stall, c.Idle, c.Issue, c.Exposed(),
		}
	}
	if idle := h.Profile.Idle; idle.Cycles() > 0 {
		d.Sites = append(d.Sites, pageSite{
			Object: -1, Text: noInstruction, Kernel: noInstruction, Function: noInstruction, Source: noInstruction, Class: noInstruction,
			Cycles: idle.Cycles(), Idle: idle.Idle, Exposed: idle.Exposed(),
		})
	}
	a, err := h.Annotate("")
	if err != nil && len(h.Waves) > 0 && len(h.Objects) > 0 {
		return nil, err
	}
	if a != nil {
		for _, f := range a.Functions {
			pf := pageFunc{Name: f.Name, Object: f.object, Cycles: f.Cycles}
			for i := range f.Lines {
				l := &f.Lines[i]
				pf.Lines = append(pf.Lines, [3]string{fmt.Sprintf("%#x", l.Addr), l.Text, l.place()})
			}
			d.Code = append(d.Code, pf)
		}
	}
	q := h.Quality.table()
	d.Quality = append([][]string{}, q.Rows...)
	for _, n := range h.Quality.Notes {
		d.Notes = append(d.Notes, capture.Note{Level: n.Level, Text: noteLine(n)})
	}
	return d, nil
}

// packWaves writes every wave and the instructions of the traced ones as varints: the number of waves; of each dispatch, engine, cu, simd, slot,
// start, length; then the same of traced waves, each followed by the number of its instructions and, of each, site, time since the end of
// the one before (zigzag), stall, run.
func (h *Hot) packWaves(w io.Writer) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	var b [binary.MaxVarintLen64]byte
	put := func(v int64) { _, _ = bw.Write(b[:binary.PutUvarint(b[:], uint64(max(v, 0)))]) } // Flush tells
	head := func(dispatch, engine, cu, simd, slot int, start, stop int64) {
		for _, v := range []int64{int64(dispatch), int64(engine), int64(cu), int64(simd), int64(slot), start, stop - start} {
			put(v)
		}
	}
	put(int64(len(h.All)))
	for i := range h.All {
		o := &h.All[i]
		head(o.Dispatch, o.Engine, o.CU, o.SIMD, o.Slot, o.Start, o.Stop)
	}
	sites := map[analysis.Where]int{}
	for i := range h.Profile.Insts {
		sites[h.Profile.Insts[i].Where] = i
	}
	type packed struct {
		wave  analysis.Wave
		n     int64
		insts []byte
	}
	open := map[*analysis.Life]*packed{}
	var all []*packed
	h.windows(func(_ int, l *analysis.Life, where analysis.Where, x analysis.Window) {
		p := open[l]
		if p == nil || x.Begin == l.Start {
			p = &packed{}
			open[l] = p
			all = append(all, p)
		}
		p.wave = l.Wave
		p.n++
		p.insts = binary.AppendUvarint(p.insts, uint64(sites[where]))
		p.insts = binary.AppendVarint(p.insts, x.Ready-x.Begin)
		p.insts = binary.AppendUvarint(p.insts, uint64(x.Issue-x.Ready))
		p.insts = binary.AppendUvarint(p.insts, uint64(x.End-x.Issue))
	})
	put(int64(len(all)))
	for _, a := range all {
		w := &a.wave
		head(w.Dispatch, w.Engine, w.CU, w.SIMD, w.Slot, w.Start, w.Stop)
		put(a.n)
		_, _ = bw.Write(a.insts)
	}
	return bw.Flush()
}
