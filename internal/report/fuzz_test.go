package report

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/rigprof/rigprof/internal/capture"
)

// FuzzViews feeds captures whose checksums hold and whose values need not make sense to every view.
func FuzzViews(f *testing.F) {
	f.Add([]byte(`{"target":"gfx1100","family":"gfx11","dies":1,"engines":6,"arrays":2,"units":4,"live":[[15,15]]}`),
		[]byte(`{"kernel":"k","waves_launched":3,"start_ns":5,"end_ns":9}`), []byte(`{"engine":0,"family":"gfx11","buffer":4096,"detail":{"alive":true}}`),
		[]byte(`{"asked":["SQ_WAVES"],"names":["SQ_WAVES"],"layout":[{"name":"SQ_WAVES"}]}`), twoWaves())
	f.Add([]byte(`{"target":"gfx942","family":"gfx9","dies":8,"engines":4,"arrays":1,"units":10}`), []byte(`{"launch":-1,"grid":[1,0,3]}`),
		[]byte(`{"dispatch":7,"engine":-3,"family":"gfx9","detail":{"array":-1,"unit":99,"simd":-1}}`), []byte(`{"dispatch":-1}`), []byte{0xf0, 0x2f, 3, 0, 0, 4})
	f.Fuzz(func(t *testing.T, device, dispatch, trace, counters, data []byte) {
		var dv capture.Device
		var d capture.Dispatch
		var tr capture.Trace
		var ct capture.Counters
		for b, v := range map[*[]byte]any{&device: &dv, &dispatch: &d, &trace: &tr, &counters: &ct} {
			_ = json.Unmarshal(*b, v) // what can be read of it
		}
		var buf bytes.Buffer
		w, err := capture.NewWriter(&buf)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{w.Device(dv), w.Object(capture.Object{}, data), w.Dispatch(d), w.Trace(tr, data), w.Counters(ct, data), w.Close()} {
			if err != nil {
				t.Skip(err)
			}
		}
		c, err := capture.Read(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := Trace(c); err == nil {
			v.Tables(5)
			v.CSV()
			_ = WriteJSON(io.Discard, v) // must not panic
			_ = v.Chrome(io.Discard)     // must not panic
		}
		if v, err := Counters(c); err == nil {
			v.PerUnit = true
			v.Tables(5)
			v.CSV()
			_ = WriteJSON(io.Discard, v) // must not panic
			_ = v.Chrome(io.Discard)     // must not panic
		}
		if h, err := HotCapture(c); err == nil {
			conserved(t, h)
			l := h.WaveList()
			l.Width = 30
			l.Tables(5)
			_ = h.WriteHTML(io.Discard) // must not panic
		}
	})
}
