// Functions inlined into functions, and a table of addresses that needs relocations.
constant int first = 3;
constant int second = 5;
constant int *constant table[2] = {&first, &second};

static int twice(int x) {
  return x * 2 + 1;
}

static int fourfold(int x) {
  int y = twice(x);
  return twice(y);
}

kernel void inlined(global int *p, int n) {
  p[0] = fourfold(p[0]) + *table[n & 1];
}

kernel void scratch(global int *p, global float *q, local int *tmp, double d, char c) {
  volatile int stack[16];
  stack[c & 15] = p[1];
  tmp[0] = stack[p[0] & 15];
  q[0] = d + tmp[p[1]];
}
