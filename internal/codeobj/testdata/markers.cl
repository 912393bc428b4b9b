// A kernel with the markers that AMD's SQTT instrument pass would put in: the map is written by hand.
__constant const char map[] __attribute__((section(".sqtt_funcmap"), used)) =
    "K:marked@markers.cl:9\n"
    "U:1:load\n"
    "F:2:_Z3sumPf@markers.cl:12\n"
    "P:70:value\n"
    "R:70:extra_payload_count=1\n";

kernel void marked(global float *out, global const float *in) {
  size_t i = __builtin_amdgcn_workitem_id_x();
  __builtin_amdgcn_s_ttracedata_imm(1 << 2 | 2);
  float a = in[i];
  __builtin_amdgcn_s_ttracedata_imm(2 << 2 | 3);
  __builtin_amdgcn_s_ttracedata(70 << 2);
  __builtin_amdgcn_s_ttracedata(1);
  out[i] = a + 1;
  __builtin_amdgcn_s_ttracedata_imm(1);
}
