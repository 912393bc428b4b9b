package report

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rigprof/rigprof/internal/capture"
)

// inBrowser opens a page in headless Chromium, runs a script half a second after it loaded, and gives the title that the script set.
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
addEventListener("load", () => setTimeout(() => {
  try { document.title = "probe " + (() => {` + script + `})(); } catch (err) { document.title = "probe " + err; }
}, 500));</script></body>`
	file := filepath.Join(t.TempDir(), "page.html")
	must2(t, os.WriteFile(file, []byte(strings.Replace(page, "</body>", probe, 1)), 0o644))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--user-data-dir="+t.TempDir(),
		"--dump-dom", "file://"+file).Output()
	if err != nil {
		t.Skipf("chromium: %v", err)
	}
	_, title, _ := strings.Cut(string(out), "<title>")
	title, _, _ = strings.Cut(title, "</title>")
	return strings.TrimPrefix(title, "probe ")
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
  return [root.dataset.ready, before, after, classes, zoomed, tip, closer, view.to - view.from === whole, dark, drawn, tabs,
    document.querySelectorAll("#codetable tr").length > 12, waves.length, $("coarse").hidden,
    $("codetable").textContent.includes("; vadd.cl:4  <\/script> SOURCE")].join(" ");`)
	if want := "yes 13 1 8 true true true true true true 5 true 2 true true"; got != want {
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
  return [root.dataset.ready, data.markers.length, g.order.length, g.marks.get(key).length, colours().size > 5, about(g, key, 170).join("|")].join(" ");`)
	if want := "yes 6 2 4 true ▸ sum(float*): 150 to 200 (50 cycles)| ▸ load: 160 to 200 (40 cycles)"; got != want {
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
  return [root.dataset.ready, waves.length, sums.length, all, colours().size > 3, $("coarse").hidden, $("coarse").textContent.startsWith("1048577 instructions are too many"),
    about(g, g.order[0], 300)[1], document.querySelectorAll("#notes .warning").length].join(" ");`)
	if want := "yes 0 1 true true false true issue 0, stall 1, idle 0 2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
