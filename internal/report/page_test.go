package report

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/analysis"
	"github.com/rigprof/rigprof/internal/capture"
	"github.com/rigprof/rigprof/internal/gpu"
	"github.com/rigprof/rigprof/internal/isa"
)

// inBrowser opens a page in headless Chromium, runs a script once the page says that it has its data, and gives the title that the script set. Where there is no
// Chromium it skips; where there is, a page that does not get ready fails.
func inBrowser(t *testing.T, page, script string) string {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is absent: the HTML export is not looked at")
	}
	for _, outside := range []string{"http://", "https://", "src=", "@import"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page refers to the outside: %s", outside)
		}
	}
	probe := `<script>const colours = () => {
  const px = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, set = new Set();
  for (let i = 0; i < px.length; i += 4) set.add(px[i] + "," + px[i+1] + "," + px[i+2]);
  return set;
};
const whenReady = (left) => {
  if (root.dataset.ready !== "yes" && left > 0) { setTimeout(whenReady, 50, root.dataset.ready ? 0 : left - 1); return; }
  if (root.dataset.ready !== "yes") { document.title = "probe not ready: " + $("range").textContent; return; }
  try { document.title = "probe " + (() => {` + script + `})(); } catch (err) { document.title = "probe " + err; }
};
addEventListener("load", () => whenReady(400));</script></body>`
	file := filepath.Join(t.TempDir(), "page.html")
	must2(t, os.WriteFile(file, []byte(strings.Replace(page, "</body>", probe, 1)), 0o644))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=30000", "--user-data-dir="+t.TempDir(),
		"--dump-dom", "file://"+file).Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	_, title, _ := strings.Cut(string(out), "<title>")
	title, _, _ = strings.Cut(title, "</title>")
	got, ok := strings.CutPrefix(title, "probe ")
	if !ok || strings.HasPrefix(got, "not ready") {
		t.Fatalf("the page does not get ready: its title is %q", title)
	}
	return got
}

// The page renders, filters, zooms, moves, turns dark and has its data in a real browser.
func TestPageInBrowser(t *testing.T) {
	var b bytes.Buffer
	h := hotOfTest(t)
	h.Source = func(file string, line int) (string, bool) { return "</script> SOURCE", file == "vadd.cl" && line == 4 }
	must2(t, h.WriteHTML(&b))
	got := inBrowser(t, b.String(), `
  const rows = () => document.querySelectorAll("#hottable tr").length - 1, before = rows();
  $("filter").value = "s_waitcnt"; hot(); const after = rows();
  $("filter").value = ""; $("by").value = "class"; hot(); const classes = rows();
  show("timeline"); const whole = view.to - view.from, r = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -400, clientX: r.left + r.width / 2, clientY: r.top + 90, cancelable: true }));
  const zoomed = view.to - view.from < whole / 1.5, from = view.from;
  canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + r.width / 2, clientY: r.top + 104 }));
  const tip = $("tip").style.display === "block" && $("tip").textContent.includes("ready");
  $("in").click(); const closer = view.from > from; $("whole").click();
  const light = getComputedStyle(document.body).backgroundColor; $("theme").click();
  const dark = getComputedStyle(document.body).backgroundColor !== light, drawn = colours().size > 4;
  const tabs = [...document.querySelectorAll("nav button")].filter((x) => { x.click(); return [...document.querySelectorAll("section.on")].map((s) => s.id).join() === x.dataset.tab; }).length;
  return [before, after, classes, zoomed, tip, closer, view.to - view.from === whole, dark, drawn, tabs,
    document.querySelectorAll("#codetable tr").length > 12, waves.length, $("coarse").hidden,
    $("codetable").textContent.includes("; vadd.cl:4  <\/script> SOURCE")].join(" ");`)
	if want := "13 1 8 true true true true true true 5 true 2 true true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Markers are drawn below their waves, and told of under the pointer.
func TestPageMarkers(t *testing.T) {
	h, err := HotCapture(markedCapture(t))
	must2(t, err)
	var b bytes.Buffer
	must2(t, h.WriteHTML(&b))
	got := inBrowser(t, b.String(), `
  show("timeline");
  const g = groupList[0], key = g.order[0];
  return [data.markers.length, g.order.length, g.marks.get(key).length, colours().size > 5, about(g, key, 170).join("|")].join(" ");`)
	if want := "6 2 4 true ▸ sum(float*): 150 to 200 (50 cycles)| ▸ load: 160 to 200 (40 cycles)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// No label of the timeline is cut off at its right edge, wherever the view ends.
func TestPageLabels(t *testing.T) {
	h := hotOfTest(t)
	var b bytes.Buffer
	must2(t, h.WriteHTML(&b))
	got := inBrowser(t, b.String(), `
  let out = 0, labels = 0; // those that no width is given
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
    if (rest.length === 1) { labels++; out += x + this.measureText(text).width > canvas.clientWidth; }
    write.call(this, text, x, ...rest);
  };
  show("timeline");
  const g = groupList[0];
  for (let end = 400; end > 300; end -= 7) clampView(g, 200, end);
  return [out, labels > 30].join(" ");`)
	if want := "0 true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Where there are too many instructions the page says so and draws sums.
func TestPageSumsInBrowser(t *testing.T) {
	h := hotOfTest(t)
	h.Profile.Total.Hits = maxPageRecords + 1
	h.Quality.Note(capture.Loss, "", "a note")
	var b bytes.Buffer
	must2(t, h.WriteHTML(&b))
	got := inBrowser(t, b.String(), `
  show("timeline");
  const all = colours().size > 4, g = groupList[0];
  clampView(g, 200, 400);
  return [waves.length, sums.length, all, colours().size > 3, $("coarse").hidden, $("coarse").textContent.startsWith("1048577 instructions are too many"),
    about(g, g.order[0], 300)[1], document.querySelectorAll("#notes .warning").length].join(" ");`)
	if want := "0 1 true true false true issue 0, stall 1, idle 0 2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// pixelsByState is a script's function that counts, in the middle of a row of the timeline, the pixels that idle, stall and issue colour.
const pixelsByState = `const rgb = (name) => { const c = document.createElement("canvas").getContext("2d"); c.fillStyle = css(name); c.fillRect(0, 0, 1, 1); return c.getImageData(0, 0, 1, 1).data.slice(0, 3).join(); };
  const states = ["--idle", "--stall", "--issue"].map(rgb);
  const pixelsByState = (g, i) => {
    const ratio = devicePixelRatio || 1, y = Math.round((g.tops[i] + rowHeight / 2) * ratio), n = [0, 0, 0], from = Math.ceil(label * ratio);
    const px = canvas.getContext("2d").getImageData(from, y, canvas.width - from, 1).data;
    for (let k = 0; k < px.length; k += 4) { const s = states.indexOf([px[k], px[k+1], px[k+2]].join()); if (s >= 0) n[s]++; }
    return n;
  };
`

// TestPageStates checks that a pixel of the timeline has the state of most of its cycles, whatever the length of the spans beside a pixel.
func TestPageStates(t *testing.T) {
	site := analysis.Site{Where: unplaced(6), Class: isa.VALU}
	row := func(slot, n int, idle, stall, issue int64) wholeWave {
		w := wholeWave{Wave: analysis.Wave{Slot: slot, Stop: int64(n) * (idle + stall + issue)}}
		for i := range int64(n) {
			w.Insts = append(w.Insts, analysis.Inst{Time: i*(idle+stall+issue) + idle, Stall: int32(stall), Dur: int32(stall + issue)})
		}
		return w
	}
	h := newHot(DeviceDoc{Name: "Radeon", Target: "gfx1100"}, "gfx1100", partOf([]wholeWave{
		row(0, 1000, 0, 9, 1), row(1, 1000, 6, 4, 0), row(2, 1000, 3, 3, 4), row(3, 10000, 0, 0, 1),
	}, []analysis.Site{site}), nil, nil, none(newQuality()))
	h.family = gpu.GFX11
	var b bytes.Buffer
	must2(t, h.WriteHTML(&b))
	// At 7, 100 and 2.5 cycles a pixel the stalls of 9 cycles are 1.3, 0.09 and 3.6 pixels, and no pixel has most of its cycles in an issue of 1 cycle.
	got := inBrowser(t, b.String(), pixelsByState+`
  show("timeline");
  const g = groupList[0], px = canvas.clientWidth - label, out = [];
  for (const per of [7, 100, 2.5]) {
    view = { from: 0, to: per * px }; draw();
    const drawn = Math.min(px, 10000 / per - 1); // the wave's last pixel is its end
    for (let i = 0; i < 4; i++) out.push(pixelsByState(g, i).map((n) => (100 * n / drawn).toFixed(0)).join("/"));
  }
  return out.join(" ");`)
	if want := "0/100/0 60/40/0 14/28/58 0/0/100 0/100/0 100/0/0 0/0/100 0/0/100 0/100/0 50/50/0 25/25/50 0/0/100"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPageBadges checks that whoever opens the page sees at once what its numbers lack, and that it is red.
func TestPageBadges(t *testing.T) {
	yes := true
	for _, tt := range []struct {
		lose func(q *Quality)
		want string
	}{
		{func(q *Quality) {}, ""},
		{func(q *Quality) { q.Note(capture.Info, "", "all is well") }, ""},
		{func(q *Quality) { q.BufferFull, q.WavesStartOnly = []int{0, 2}, 1 }, "not whole: buffer full on engine 0, 2, 0 of 1 wave whole, see Quality"},
		{func(q *Quality) { q.WavesComplete, q.WavesEndOnly = 3, 2 }, "not whole: 3 of 5 waves whole, see Quality"},
		{func(q *Quality) { q.BytesLost, q.PacketsLost = 2048, 3 }, "not whole: 2 KiB unreadable, 3 reports of lost tokens, see Quality"},
		{func(q *Quality) { q.Note(capture.Loss, "", "the capture <ended> early") }, "not whole: data is lost, see Quality"},
	} {
		h := hotOfTest(t)
		h.Device.Simulated, h.Quality = &yes, newQuality()
		tt.lose(&h.Quality)
		var b bytes.Buffer
		must2(t, h.WriteHTML(&b))
		header, _, _ := strings.Cut(b.String(), "</header>")
		want := badge("simulated: times are modelled")
		if tt.want != "" {
			want += badge(tt.want)
		}
		if !strings.Contains(header, "</h1>"+want+`<span class="note">`) {
			t.Errorf("no %s in %s", want, header[strings.Index(header, "<header>"):])
		}
	}
	h := hotOfTest(t)
	h.Quality.BufferFull = []int{0}
	var b bytes.Buffer
	must2(t, h.WriteHTML(&b))
	if got := inBrowser(t, b.String(), `return [...document.querySelectorAll("header .badge")].map((e) => getComputedStyle(e).backgroundColor).join(" ");`); got != "rgb(217, 83, 79) rgb(217, 83, 79)" {
		t.Errorf("badges are %q", got)
	}
}

// TestPageCapture opens the page of a real trace of three dispatches and half a million instructions: it shows the dispatch with most cycles, and what the terminal shows.
func TestPageCapture(t *testing.T) {
	h := captureHot(t, "gfx1200/gemmbig")
	var b bytes.Buffer
	must2(t, h.WriteHTML(&b))
	got := inBrowser(t, b.String(), pixelsByState+`
  show("timeline");
  const g = groupList[$("group").value], whole = view.to - view.from, drawn = colours().size > 4, n = [0, 0, 0];
  $("in").click(); // 1,243 cycles a pixel, most stalls 1 to 2 pixels: 88 % of the cycles, and most of those in nearly every pixel
  for (let i = 0; i < g.order.length; i++) pixelsByState(g, i).forEach((k, s) => { n[s] += k; });
  const red = (100 * n[1] / (n[0] + n[1] + n[2])).toFixed(0);
  for (let i = 0; i < 11; i++) $("in").click();
  const tip = about(g, g.order[0], (view.from + view.to) / 2).length > 2, near = colours().size > 4;
  $("whole").click();
  const row = document.querySelectorAll("#hottable tr")[1], cells = [...row.cells].map((c) => c.textContent);
  row.querySelector(".link").click();
  return [waves.length, groupList.length, $("group").selectedOptions[0].textContent, whole > 1e6, drawn, red, near, tip, lane(g.order[15]), "|", cells.slice(1, 11).join(" "), "|",
    document.querySelector("section.on").id, document.querySelector("tr.pick").textContent.includes("0x181cglobal_load_b128"), document.querySelectorAll(".advice .rule").length > 0].join(" ");`)
	want := "279 3 d2_se0.sqtt (dispatch 2 engine 0): r_32_16_8_16_4_4_256_4: 1,024 waves, 32 with instructions, 21,220,186 cycles true true 100 true true " +
		"array 0 WGP 0 SIMD 0 slot 15 | 18,174,204 18,166,012 0 8,192 12,856,584 8,192 – 0x181c 0x184c s_wait_loadcnt 0x3 | code true true"
	if got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// TestPageUnits checks that rows are named as on the terminal beyond the first array, and that one wave is no "waves".
func TestPageUnits(t *testing.T) {
	valu := analysis.Site{Where: unplaced(6), Class: isa.VALU}
	h := newHot(DeviceDoc{Name: "Radeon", Target: "gfx1100"}, "gfx1100",
		partOf([]wholeWave{{analysis.Wave{CU: 10, SIMD: 1, Slot: 3, Stop: 100}, []analysis.Inst{{Dur: 100}}}}, []analysis.Site{valu}), nil, nil, none(newQuality()))
	h.family = gpu.GFX11
	var b bytes.Buffer
	must2(t, h.WriteHTML(&b))
	if got := readPage(t, b.String()).data.Units[10]; got != [2]int{1, 2} {
		t.Errorf("cu 10 is %v", got)
	}
	got := inBrowser(t, b.String(), `return lane(groupList[0].order[0]) + "|" + $("group").textContent;`)
	if want := (slot{10, 1, 3}).lane(gpu.GFX11) + "|dispatch 0 engine 1: unknown code: 1 wave, 1 with instructions, 100 cycles"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPageKernels checks what the page makes of functions that kernels share: rows by code are one, rows by kernel are not, and what never ended is
// none.
func TestPageKernels(t *testing.T) {
	h := calledHot(t)
	var b bytes.Buffer
	must2(t, h.WriteHTML(&b))
	got := inBrowser(t, b.String(), `
  const rows = (by) => groups(by).map((g) => [g.name, g.kernel, g.cycles].join("=")).sort().join(";");
  return [rows("kernel"), rows("function"), rows("insn"), byPlace.size, rows("branch")].join("|");`)
	want := "first=first=1100;second=second=10;vadd=vadd=1|unknown code=first=1000;vadd=first, second, vadd=111|VALU at an unknown address=first=1000;s_clause 0x1=first, second, vadd=111|2|" +
		"inside no if whose both sides are known to have run=first, second, vadd=1111"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPageBy checks that the page's list has every grouping of the terminal, with the same rows.
func TestPageBy(t *testing.T) {
	h := captureHot(t, "gfx1100/ops")
	var b bytes.Buffer
	must2(t, h.WriteHTML(&b))
	got := inBrowser(t, b.String(), `
  return [...$("by").options].map((o) => o.value + "=" + groups(o.value).map((g) => g.cycles).sort((a, b) => b - a).join("+")).join(" ");`)
	var want []string
	for _, by := range HotBy {
		var cycles []string
		for _, r := range h.Hotspots(by, "cycles").Rows {
			cycles = append(cycles, fmt.Sprint(r.Cycles))
		}
		want = append(want, by+"="+strings.Join(cycles, "+"))
	}
	if want := strings.Join(want, " "); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}
