package report

import "testing"

// A user's name means the function of that very name, or those that it is a part of.
func TestCalledBy(t *testing.T) {
	list := []AsmFunc{
		{Name: "void app::scale<float>(float*)", Symbol: "_ZN3app5scaleIfEEvPT_"},
		{Name: "void app::scale<int>(int*)", Symbol: "_ZN3app5scaleIiEEvPT_"},
		{Name: "rescale(int)", Symbol: "_Z7rescalei"},
		{Name: "copy", Symbol: "copy"},
		{Name: "other::copy(int)", Symbol: "_ZN5other4copyEi"},
		{Name: "code at 0x1600"},
	}
	for name, want := range map[string]int{
		"scale": 2, "app::scale": 2, "_ZN3app5scaleIfEEvPT_": 1, "void app::scale<int>(int*)": 1, "rescale": 1, "copy": 1, "other::copy": 1, "cale": 0, "scale<int>": 1, "pp::scale": 0,
		"code at 0x1600": 1,
	} {
		if got := calledBy(list, name); len(got) != want {
			t.Errorf("%q: %+v, want %d", name, got, want)
		}
	}
}
